"""Variants of the granularity unit that its bench runs on."""

from adagrain.hdl.granularity_unit import GranularityUnit
from adagrain.models.interface.precision import INTEGERS

VARIANTS = {
    "one_slice": lambda: GranularityUnit(1, 64),
    "three_slices": lambda: GranularityUnit(3, 256),
    "integers": lambda: GranularityUnit(2, 64, INTEGERS),
    "integers_four_slices": lambda: GranularityUnit(4, 512, INTEGERS),
}
ICARUS_VARIANTS = ("one_slice", "integers")
