"""Sums in another precision, and packed in words."""

from .integer_rescale import IntegerRescale
from .packer import Packer
from .rescale import Rescale

__all__ = ["IntegerRescale", "Packer", "Rescale"]
