"""Golden model of ``mask``: which elements of a gradient are kept, by their magnitude."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from .arguments import whole
from .interface.codec import CODED_FORMATS
from .interface.formats import FORMATS
from .interface.units.statistics import BINS

__all__ = ["KeepTable", "masked"]


class KeepTable(NamedTuple):
    """Choice of the elements of a region that are kept.

    Members
    -------
    exponent, keep
        As those of :func:`masked`.
    """

    exponent: int
    keep: Sequence[int]


def masked(tensor: torch.Tensor, exponent: int, keep: Sequence[int]) -> torch.Tensor:
    """A gradient with +0 in the place of elements whose bin is not kept.

    Bins are half binades, as those of ``statistics``: bin 0 is the upper half of the base's binade,
    bin 63 takes all below it too. Elements beyond bin 0 are always kept, so NaNs and infinities
    are: the base is that of an earlier step.

    Parameters
    ----------
    tensor : Tensor
        BF16 or FP16, of any shape.
    exponent : int
        Exponent field of the base: 0 to 254, or to 30 in FP16.
    keep : sequence of int
        For each of the 64 bins: 1 to keep its elements, 0 to drop them.

    Returns
    -------
    Tensor
        Of the same shape and type; elements that are kept have their bits.

    Raises
    ------
    TypeError
        If the tensor is of another type, or ``exponent`` no whole number.
    ValueError
        If ``exponent`` is out of its range, or ``keep`` has other than 64 entries of 0 and 1.
    """
    known = {FORMATS[code].dtype: FORMATS[code] for code in CODED_FORMATS}
    if tensor.dtype not in known:
        raise TypeError(f"dtype must be one of {', '.join(map(str, known))}, not {tensor.dtype}")
    fmt = known[tensor.dtype]
    base = whole("exponent", exponent, fmt.largest_exponent)
    table = np.asarray(keep)
    if table.shape != (BINS,):
        raise ValueError(f"keep must have {BINS} entries, not shape {table.shape}")
    if wrong := [entry for entry in table.tolist() if entry not in (0, 1)]:
        raise ValueError(f"entries of keep must be 0 or 1, not {wrong[0]!r}")
    words = tensor.detach().to("cpu").resolve_neg().contiguous().view(torch.int16).numpy()
    half_binades = (words & 0x7FFF) >> (fmt.mantissa_bits - 1)
    bins = 2 * base + 1 - half_binades.astype(np.int32)
    kept = (bins < 0) | table.astype(bool)[bins.clip(0, BINS - 1)]
    return torch.from_numpy(np.where(kept, words, np.int16(0))).view(tensor.dtype)
