"""The precision that each channel group computes in."""

from .precision_controller import PrecisionController

__all__ = ["PrecisionController"]
