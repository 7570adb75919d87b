"""Variants of the whole device that its bench runs on."""

from adagrain.hdl.device.coprocessor import Coprocessor
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.formats import STREAMED
from adagrain.models.interface.precision import INTEGERS

#: Short enough that a bench can wait for a starved pass, long enough for any random idling.
STARVATION = 400

VARIANTS = {
    "tiny": lambda: Coprocessor(configuration("tiny"), starvation=STARVATION),
    "tiny_whole": lambda: Coprocessor(
        configuration("tiny", units=("statistics", "region_manager"), histogram=True),
        starvation=STARVATION,
    ),
    "small": lambda: Coprocessor(configuration("small", regions=16), starvation=STARVATION),
    "granular": lambda: Coprocessor(
        configuration("granular", regions=16, slices=2, operands=256), starvation=STARVATION
    ),
    "integers": lambda: Coprocessor(
        configuration("granular", regions=16, slices=2, operands=256, precisions=INTEGERS),
        starvation=STARVATION,
    ),
    "codec": lambda: Coprocessor(
        configuration("tiny", formats=STREAMED, units=("statistics", "encoder", "decoder")),
        starvation=STARVATION,
    ),
    "full": lambda: Coprocessor(configuration("full", regions=16), starvation=STARVATION),
}
ICARUS_VARIANTS = ("tiny",)
