"""Matrix products in single precision whose sums are rounded term by term, compiled."""

import numpy as np
from numba import njit

__all__ = ["product_in_order"]


@njit(cache=True, nogil=True)
def product_in_order(a, b, out):  # pragma: no cover - compiled
    """Add products of a column of ``a`` and a row of ``b`` after each other, without fusing.

    Parameters
    ----------
    a : array of float32, shape (m, k)
    b : array of float32, shape (k, n)
    out : array of float32, shape (m, n)
        Where the product goes.
    """
    for i in range(a.shape[0]):
        total = out[i]
        total[:] = np.float32(0)
        for t in range(a.shape[1]):
            factor = a[i, t]
            row = b[t]
            for j in range(row.size):
                total[j] += factor * row[j]
