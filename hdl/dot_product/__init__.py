"""Sums of products in any of four precisions."""

from .dot_product import DotProduct

__all__ = ["DotProduct"]
