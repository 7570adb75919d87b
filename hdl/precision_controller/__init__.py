"""Which precision each granularity unit computes in."""

from .precision_controller import PrecisionController

__all__ = ["PrecisionController"]
