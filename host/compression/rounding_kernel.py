"""FP32 to BF16 in one compiled pass: to the nearest, ties to even, zeros without a sign."""

import numpy as np
from numba import njit

__all__ = ["LEAST_SPECIAL", "round_words"]

#: The least magnitude, as a word, that is no finite BF16 any more when it is rounded.
LEAST_SPECIAL = 0x7F7F8000

_MAGNITUDE, _SIGN = np.int32(0x7FFFFFFF), np.int32(-0x8000)
_SHIFT, _LAST, _BELOW_HALF = np.int32(16), np.int32(1), np.int32(0x7FFF)


@njit(cache=True, nogil=True)
def round_words(words, found):  # pragma: no cover - compiled
    """Round what is below :data:`LEAST_SPECIAL`; the largest magnitude, as a word.

    Parameters
    ----------
    words : ndarray of int32
        FP32.
    found : ndarray of int16
        Filled with BF16.
    """
    largest = np.int32(0)
    for i in range(words.size):
        magnitude = np.int32(words[i] & _MAGNITUDE)
        largest = max(largest, magnitude)
        carry = np.int32(_BELOW_HALF + np.int32(np.int32(magnitude >> _SHIFT) & _LAST))
        upper = np.int32(np.int32(magnitude + carry) >> _SHIFT)
        sign = np.int32(np.int32(words[i] >> _SHIFT) & _SIGN)
        found[i] = np.int16(upper | (sign if upper else np.int32(0)))
    return largest
