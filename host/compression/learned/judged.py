"""Sums, costs and worth by which keep-tables are judged."""

from typing import NamedTuple

import numpy as np

from .code_bits import CodeBits

__all__ = ["Judged"]


class Judged(NamedTuple):
    """Sums of shares' elements, bits that they take, and worth of their energy.

    Members
    -------
    sums : ndarray of int64, (shares, 512, 2)
        As :func:`~adagrain.models.numerics.half_binades.half_binade_sums` gives them.
    bases : ndarray of int64, (shares,)
        Exponents from which bins are counted.
    code : CodeBits
        Bits that elements take.
    value : ndarray of float64, (shares, 64)
        What a bin's energy is worth.
    """

    sums: np.ndarray
    bases: np.ndarray
    code: CodeBits
    value: np.ndarray

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """As :func:`.slopes_kernel.find_slopes` takes them."""
        return self.sums, self.bases, *self.code, self.value
