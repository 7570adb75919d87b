"""Masked gradients to coded blocks, and back."""

from .encoder import Encoder

__all__ = ["Encoder"]
