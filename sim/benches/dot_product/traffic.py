"""Terms of dot products that overlap in any order, and the model's sums."""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from adagrain.models.dot_product import dot
from adagrain.models.interface.precision import Precision
from adagrain.sim.benches.slice.traffic import random_words

__all__ = ["Terms", "sum_words", "term"]


@dataclass(frozen=True)
class Terms:
    """What goes in and what comes out, as bits.

    Parameters
    ----------
    given : list of int
        Terms, as ``terms_layout`` has them.
    expected : list of int
        Sums, as ``sums_layout`` has them, in the order in which they end.
    """

    given: list[int]
    expected: list[int]

    @classmethod
    def random(
        cls,
        sums: int,
        entries: int,
        rng: np.random.Generator,
        *,
        longest: int,
        used: int | None = None,
        precisions: Sequence[Precision] = tuple(Precision),
    ) -> Self:
        """So many sums of all these precisions, each of up to ``longest`` pairs of words.

        All entries, or the first ``used`` of them, are in use at the same time, and which of them
        gets the next pair is random, or goes round.
        """
        used = used or entries
        waiting = deque(range(sums))
        modes = rng.choice(precisions, sums)
        lengths = rng.integers(1, longest + 1, sums)
        words = [
            sum_words(Precision(mode), int(length), rng)
            for mode, length in zip(modes, lengths, strict=True)
        ]
        totals = _totals(words, modes)
        given, expected = [], []
        running: dict[int, tuple[int, int]] = {}
        turn = 0
        while waiting or running:
            for index in range(used):
                if index not in running and waiting:
                    running[index] = (waiting.popleft(), 0)
            turn = (turn + 1) % used if rng.integers(0, 4) else int(rng.integers(0, used))
            if turn not in running:
                continue
            number, k = running[turn]
            a, b = words[number]
            mode, last = int(modes[number]), bool(k == lengths[number] - 1)
            ends = {"first": k == 0, "last": last}
            given.append(term(int(a[k]), int(b[k]), mode, entries, index=turn, **ends))
            running[turn] = (number, k + 1)
            if last:
                del running[turn]
                word, flags = totals[number]
                expected.append(word | flags << 32 | mode << 37 | turn << 39)
        return cls(given, expected)


def term(
    a: int, b: int, mode: int, entries: int, *, index: int = 0, first: bool, last: bool
) -> int:
    """Bits of a pair of words, as ``terms_layout(entries)`` has them."""
    ends = (first | last << 1) << (entries - 1).bit_length()
    return a | b << 32 | (mode | (index | ends) << 2) << 64


def _totals(words: list[np.ndarray], modes: np.ndarray) -> list[list[int]]:
    """Word and flags of each sum; sums of the same precision and length are found at once."""
    alike = defaultdict(list)
    for number, (mode, pairs) in enumerate(zip(modes, words, strict=True)):
        alike[int(mode), pairs.shape[1]].append(number)
    totals = np.empty((len(words), 2), dtype=np.int64)
    for (mode, _), numbers in alike.items():
        a, b = np.stack([words[number] for number in numbers], axis=1)
        totals[numbers] = np.stack(dot(a, b, Precision(mode)), axis=1)
    return totals.tolist()


def sum_words(precision: Precision, count: int, rng: np.random.Generator) -> np.ndarray:
    """Words of the terms of one sum, of shape (2, count): any, tame ones, infinities, those that
    cancel, or those whose products are about as small as numbers get."""
    words = np.stack(random_words(precision, count, rng))
    kind = rng.integers(0, 5)
    if precision.integer:
        return words
    row = precision.row
    lanes = np.arange(precision.lanes) * precision.bits
    sign = (1 << (row.bits - 1) << lanes).sum()
    if kind == 0:  # no infinities and NaNs, so that a sum has a value
        lowest = (1 << row.mantissa_bits << lanes).sum()
        words &= ~lowest
    elif kind == 1 and count > 1:  # each pair is followed by its negative
        words[:, 1::2] = words[:, 0 : count - 1 : 2]
        words[0, 1::2] ^= sign
    elif kind >= 2:  # around one, or products around the smallest number
        exponents = (((1 << row.exponent_bits) - 1) << row.mantissa_bits << lanes).sum()
        drawn, least = (7, row.bias // 2 - 7) if kind == 4 else (0, row.bias)
        drawn, least = ((part << row.mantissa_bits << lanes).sum() for part in (drawn, least))
        words = words & (~exponents | drawn) | least
        if kind == 3:  # with some infinities, but no NaN and no zero
            infinite = words & sign | exponents
            words[0] = np.where(rng.integers(0, 4, count) == 0, infinite[0], words[0])
    return words
