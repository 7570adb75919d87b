"""One pass over a tensor: counts, extremes, exact power sums, histogram of magnitudes."""

from .statistics import Statistics
from .widen import TensorBegin, Widen

__all__ = ["Statistics", "TensorBegin", "Widen"]
