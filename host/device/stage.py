"""A layer of a chain as the device has it."""

from dataclasses import dataclass

import numpy as np

from adagrain.models.interface.precision import Precision

from .rescaling import Rescaling

__all__ = ["Stage"]


@dataclass(frozen=True)
class Stage:
    """Its columns in the slices' memories, one tile after another."""

    precision: Precision
    rescaling: Rescaling
    columns: np.ndarray  # (tiles × slices, words)
    width: int  # columns of the product
    first: int  # word of the first tile, in each memory
    held: int  # words that a row takes in the memory of ``a``: some may not be multiplied

    def tiles(self, slices: int) -> int:
        return len(self.columns) // slices

    @property
    def words(self) -> int:
        """Words of each sum."""
        return self.columns.shape[1]
