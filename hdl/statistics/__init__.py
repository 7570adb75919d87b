"""One pass over a tensor: counts, extremes, exact power sums, histogram of magnitudes."""

from .statistics import Statistics

__all__ = ["Statistics"]
