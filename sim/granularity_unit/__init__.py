"""Variants of the granularity unit that its bench runs on."""

from adagrain.hdl.granularity_unit import GranularityUnit

VARIANTS = {
    "one_slice": lambda: GranularityUnit(1, 64),
    "three_slices": lambda: GranularityUnit(3, 256),
}
ICARUS_VARIANTS = ("one_slice",)
