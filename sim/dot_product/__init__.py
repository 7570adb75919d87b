"""Variants of the dot product that its bench runs on."""

from adagrain.hdl.dot_product import DotProduct

VARIANTS = {"eight_sums": lambda: DotProduct(8), "two_sums": lambda: DotProduct(2)}
ICARUS_VARIANTS = ("two_sums",)
