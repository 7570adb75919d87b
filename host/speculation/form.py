"""Measures of a guessed update's error."""

from enum import StrEnum

__all__ = ["Form"]


class Form(StrEnum):
    """Measure of an error, relative to that of the true update."""

    RMSE = "rmse"  #: Σ(a−b)² ≤ τ²·Σb²
    MEAN_ABSOLUTE = "mean_absolute"  #: Σ|a−b| ≤ τ·Σ|b|
    MAXIMUM = "maximum"  #: max|a−b| ≤ τ·max|b|
