"""Ways to a device, on which whatever it is asked must have the same results."""

from collections.abc import Callable

from builds import TINY
from golden_device import opened
from transports import ForgetfulTransport, LossyTransport

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.models.interface.configuration import configuration
from adagrain.sim.virtual_board.faulty_line import Fault

__all__ = ["SMALL", "WAYS"]

SMALL = configuration("small")

#: By name; all of them have a window.
WAYS: dict[str, Callable[[], Coprocessor]] = {
    "golden": lambda: adagrain.open_device("golden:", SMALL),
    "golden, reference": lambda: adagrain.open_device("golden:", SMALL, kernel="reference"),
    "golden, frames": lambda: adagrain.open_device("golden:", SMALL, direct=False),
    "sim": lambda: adagrain.open_device("sim:", TINY),
    "sim, frames": lambda: adagrain.open_device("sim:", TINY, data_port=False),
    "reset": lambda: opened(ForgetfulTransport(SMALL, every=13), SMALL),
    "lossy": lambda: opened(
        LossyTransport(SMALL, chances={Fault.FLIP: 1e-4}, seed=3), SMALL, retries=50
    ),
}
