"""Matrix products in single precision whose sums are rounded term by term, compiled."""

import numpy as np
from numba import njit

__all__ = ["product_in_order"]


@njit(cache=True, nogil=True)
def product_in_order(a, b, out):  # pragma: no cover - compiled
    """Add products of a column of ``a`` and a row of ``b`` after each other, without fusing.

    Four of them go in one loop, from left to right: sums stay in registers between them.

    Parameters
    ----------
    a : array of float32, shape (m, k)
    b : array of float32, shape (k, n)
    out : array of float32, shape (m, n)
        Where the product goes.
    """
    fours = a.shape[1] // 4 * 4
    for i in range(a.shape[0]):
        total = out[i]
        total[:] = np.float32(0)
        for t in range(0, fours, 4):
            f0, f1, f2, f3 = a[i, t], a[i, t + 1], a[i, t + 2], a[i, t + 3]
            r0, r1, r2, r3 = b[t], b[t + 1], b[t + 2], b[t + 3]
            for j in range(total.size):
                total[j] = total[j] + f0 * r0[j] + f1 * r1[j] + f2 * r2[j] + f3 * r3[j]
        for t in range(fours, a.shape[1]):
            factor = a[i, t]
            row = b[t]
            for j in range(row.size):
                total[j] += factor * row[j]
