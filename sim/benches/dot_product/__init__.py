"""Variants of the dot product that its bench runs on."""

from adagrain.hdl.dot_product import DotProduct, IntegerDotProduct

VARIANTS = {
    "eight_sums": lambda: DotProduct(8),
    "two_sums": lambda: DotProduct(2),
    "eight_of_integers": lambda: IntegerDotProduct(8),
    "two_of_integers": lambda: IntegerDotProduct(2),
}
ICARUS_VARIANTS = ("two_sums", "eight_of_integers")
