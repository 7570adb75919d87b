"""Choice of the elements of a gradient that are kept, by their magnitude."""

from .mask import Mask, MaskParameters

__all__ = ["Mask", "MaskParameters"]
