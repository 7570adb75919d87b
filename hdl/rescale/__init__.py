"""Sums in another precision, and packed in words."""

from .packer import Packer
from .rescale import Rescale

__all__ = ["Packer", "Rescale"]
