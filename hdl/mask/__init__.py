"""Which elements of a gradient are kept, by their magnitude."""

from .mask import Mask, MaskParameters

__all__ = ["Mask", "MaskParameters"]
