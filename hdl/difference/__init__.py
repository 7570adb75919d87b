"""One pass over two tensors: exact sums of their differences."""

from .difference import Difference

__all__ = ["Difference"]
