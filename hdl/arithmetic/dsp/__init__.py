"""Multipliers as FPGAs have them."""

from .products import Products
from .target import Target, family_of

__all__ = ["Products", "Target", "family_of"]
