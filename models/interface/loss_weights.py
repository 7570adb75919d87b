"""Weights of what the mask generation network is to learn."""

from typing import NamedTuple

__all__ = ["LossWeights"]


class LossWeights(NamedTuple):
    """Weights of the three losses; each at least 0."""

    reconstruction: float = 1.0
    sparsity: float = 1.0
    communication: float = 1.0
