"""Sums of all precisions and what becomes of them; rows of numbers and their words."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adagrain.hdl.rescale import Packer
from adagrain.models.arithmetic.float import Rounded
from adagrain.models.interface.precision import Precision
from adagrain.models.rescale import EXPONENTS, packed_rows, rescale
from adagrain.sim.benches.float.traffic import extreme, special

__all__ = ["exchanged", "random_sums", "rescaled_sums"]

Words = NDArray[np.int64]

#: Bits of flags.
_FLAGS = 5


def exchanged(unit: Any, count: int, rng: np.random.Generator) -> tuple[Words, Words]:
    """So many elements for a unit, and what comes out; as bits."""
    if isinstance(unit, Packer):
        return _rows(unit.precisions, count, rng)
    return rescaled_sums(unit.PRECISIONS, count, rng)


def rescaled_sums(
    precisions: tuple[Precision, ...], count: int, rng: np.random.Generator
) -> tuple[Words, Words]:
    """Sums that change mode, exponent and precision with each."""
    kinds = [(mode, to) for mode in precisions for to in precisions]
    kind, last = rng.integers(0, len(kinds), count), rng.integers(0, 2, count)
    raised = rng.integers(0, 1 << _FLAGS, count) & rng.integers(0, 1 << _FLAGS, count)
    given, wanted = np.zeros((2, count), dtype=np.int64)
    for number, (mode, to) in enumerate(kinds):
        chosen = kind == number
        words, exponents = random_sums(mode, to, int(chosen.sum()), rng)
        found = rescale(words, mode, exponents, to)
        given[chosen] = words | mode << 37 | (exponents & 0xFF) << 39 | to << 47
        wanted[chosen] = found.words | found.flags << 32 | to << 37
    return given | raised << 32 | last << 49, wanted | raised << 32 | last << 39


def random_sums(
    mode: Precision, to: Precision, count: int, rng: np.random.Generator
) -> tuple[Words, Words]:
    """Sums and exponents: any, special ones, and those that come near the target's range."""
    if mode.integer:
        places = rng.integers(1, 33, count)
        words = rng.integers(0, 1 << 32, count) >> (32 - places)
        round_ones = (1 << places) - rng.integers(-1, 3, count)  # near powers of two
        words = np.where(rng.integers(0, 3, count) == 0, round_ones, words)
        words = np.where(rng.integers(0, 2, count), -words, words) & 0xFFFF_FFFF
        highest = np.array([word.bit_length() for word in words.tolist()], dtype=np.int64)
    else:
        row = mode.row
        chosen = rng.choice(np.concatenate([special(row), extreme(row)]), count)
        words = np.where(
            rng.integers(0, 4, count) == 0, chosen, rng.integers(0, 1 << row.bits, count)
        )
        highest = (words >> row.mantissa_bits & (1 << row.exponent_bits) - 1) - row.bias
    if to.integer:
        low, high = -2, to.bits + 2
    else:
        low, high = -to.row.bias - to.row.mantissa_bits - 2, to.row.bias + 3
    near = np.clip(rng.integers(low, high, count) - highest, EXPONENTS[0], EXPONENTS[-1])
    anywhere = rng.integers(EXPONENTS[0], EXPONENTS[-1] + 1, count)
    return words, np.where(rng.integers(0, 4, count) == 0, anywhere, near)


def _rows(
    precisions: tuple[Precision, ...], count: int, rng: np.random.Generator
) -> tuple[Words, Words]:
    """Rows of one to twenty numbers, each row of one precision; at least so many numbers."""
    given: list[Words] = []
    wanted: list[Words] = []
    while sum(map(len, given)) < count:
        columns, to = int(rng.integers(1, 21)), precisions[rng.integers(0, len(precisions))]
        numbers = Rounded(
            rng.integers(0, 1 << to.bits, (1, columns)),
            rng.integers(0, 1 << _FLAGS, (1, columns)) & rng.integers(0, 1 << _FLAGS, (1, columns)),
        )
        words = packed_rows(numbers, to)
        ends = np.arange(columns) == columns - 1
        given.append(numbers.words[0] | numbers.flags[0] << 32 | to << 37 | ends.astype(int) << 39)
        lasts = np.arange(words.words.shape[1]) == words.words.shape[1] - 1
        wanted.append(words.words[0] | words.flags[0] << 32 | lasts.astype(int) << 37)
    return np.concatenate(given), np.concatenate(wanted)
