"""Shares met by a mask in a pass."""

from collections.abc import Sequence
from operator import lt
from typing import NamedTuple

import numpy as np

from adagrain.host.compression.layout import Key

__all__ = ["Met", "together"]


class Met(NamedTuple):
    """Shares, and what their elements were.

    Members
    -------
    keys : tuple of Key
        What they are of.
    sizes : tuple of int
        Elements of each.
    sums : ndarray of int64, (shares, 512, 2)
        As :func:`~adagrain.models.numerics.half_binades.half_binade_sums` gives them.
    bases : ndarray of int64, (shares,)
        As :func:`~adagrain.models.mask_network.base_of` gives them.
    kept, there : int
        Elements that tables have kept, and that are not 0; finite ones.
    """

    keys: tuple[Key, ...]
    sizes: tuple[int, ...]
    sums: np.ndarray
    bases: np.ndarray
    kept: int
    there: int


def together(met: Sequence[Met]) -> Met:
    """All shares in one order, whatever that of exchanges: sums of floats depend on it."""
    first = met[0]
    if len(met) == 1 and all(map(lt, first.keys, first.keys[1:])):
        return first
    keys = [key for one in met for key in one.keys]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    sizes = [size for one in met for size in one.sizes]
    sums, bases = (
        np.concatenate(parts)[order] for parts in zip(*(one[2:4] for one in met), strict=True)
    )
    return Met(
        tuple(keys[place] for place in order),
        tuple(sizes[place] for place in order),
        sums,
        bases,
        sum(one.kept for one in met),
        sum(one.there for one in met),
    )
