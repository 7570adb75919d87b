"""One pass over a tensor: counts, extremes, exact power sums, histogram of magnitudes."""

from .statistics import Statistics
from .widen import Widen

__all__ = ["Statistics", "Widen"]
