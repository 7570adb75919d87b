"""Means of figures, and how sure they are."""

from collections.abc import Sequence

import numpy as np

__all__ = ["mean", "standard_error"]


def mean(values: Sequence[float] | np.ndarray) -> float:
    """In five digits behind the point."""
    return round(float(np.mean(values)), 5)


def standard_error(values: Sequence[float] | np.ndarray) -> float:
    """Of their mean; 0 of one value."""
    return round(float(np.std(values, ddof=1)) / len(values) ** 0.5, 5) if len(values) > 1 else 0.0
