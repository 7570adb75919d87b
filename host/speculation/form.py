"""How the error of a guessed update is measured."""

from enum import StrEnum

__all__ = ["Form"]


class Form(StrEnum):
    """How an error is measured, relative to the same measure of the true update."""

    RMSE = "rmse"  #: Σ(a−b)² ≤ τ²·Σb²
    MEAN_ABSOLUTE = "mean_absolute"  #: Σ|a−b| ≤ τ·Σ|b|
    MAXIMUM = "maximum"  #: max|a−b| ≤ τ·max|b|
