"""An ALU that switches between four precisions from one cycle to the next."""

from .products import ExactProducts
from .slice import Slice

__all__ = ["ExactProducts", "Slice"]
