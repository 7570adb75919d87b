"""Sums of products in any of four precisions."""

from .dot_product import DotProduct
from .integer_dot_product import IntegerDotProduct

__all__ = ["DotProduct", "IntegerDotProduct"]
