"""Terms of dot products that overlap in any order, and the model's sums."""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from adagrain.models.dot_product import dot
from adagrain.models.interface.precision import Precision
from adagrain.sim.benches.float.traffic import raised
from adagrain.sim.benches.slice.traffic import random_words
from adagrain.sim.simulators.stimulus import Columns, Stimulus

__all__ = ["Term", "stimulus", "sum_columns", "sum_words", "terms"]

Words = NDArray[np.int64]


#: Of a term: words, mode, number of the sum, whether it is the first and the last.
Term = tuple[int, int, int, int, bool, bool]


def stimulus(
    sums: int,
    entries: int,
    rng: np.random.Generator,
    *,
    longest: int,
    used: int | None = None,
    precisions: Sequence[Precision] = tuple(Precision),
) -> Stimulus:
    """So many sums of all these precisions, each of up to ``longest`` pairs of words.

    All entries, or the first ``used`` of them, are in use at the same time, and which of them gets
    the next pair is random, or goes round.
    """
    modes = rng.choice(precisions, sums)
    lengths = rng.integers(1, longest + 1, sums)
    words = [
        sum_words(Precision(mode), int(length), rng)
        for mode, length in zip(modes, lengths, strict=True)
    ]
    given: list[Term] = []
    ended: list[tuple[int, int]] = []
    for index, number, k in _slots(lengths, used or entries, rng):
        a, b = words[number][:, k]
        last = bool(k == lengths[number] - 1)
        given.append((a, b, modes[number], index, k == 0, last))
        if last:
            ended.append((number, index))
    numbers, indices = np.array(ended).T
    word, flags = _totals(words, modes)[numbers].T
    results = sum_columns(word, flags, modes[numbers], indices)
    return Stimulus({"i": terms(given)}, {"o": results})


def terms(given: Sequence[Term] | np.ndarray) -> Columns:
    """Terms as gateware has them, of which each is a fmt."""
    names = ("a", "b", "mode", "index", "first", "last")
    return Columns(dict(zip(names, np.array(given, dtype=np.int64).T, strict=True)))


def sum_columns(word: Words, flags: Words, mode: Words, index: Words) -> Columns:
    """Sums as gateware has them."""
    return Columns({"word": word, "flags": raised(flags), "mode": mode, "index": index})


def _slots(
    lengths: np.ndarray, used: int, rng: np.random.Generator
) -> Iterator[tuple[int, int, int]]:
    """Of each pair, in order: its entry, its sum, and where in the sum it is."""
    waiting = deque(range(len(lengths)))
    running: dict[int, tuple[int, int]] = {}
    slot = 0
    while waiting or running:
        for index in range(used):
            if index not in running and waiting:
                running[index] = (waiting.popleft(), 0)
        slot = (slot + 1) % used if rng.integers(0, 4) else int(rng.integers(0, used))
        if slot not in running:
            continue
        number, k = running.pop(slot)
        yield slot, number, k
        if k < lengths[number] - 1:
            running[slot] = (number, k + 1)


def _totals(words: list[np.ndarray], modes: np.ndarray) -> Words:
    """Word and flags of each sum; sums of the same precision and length are found at once."""
    alike = defaultdict(list)
    for number, (mode, pairs) in enumerate(zip(modes, words, strict=True)):
        alike[int(mode), pairs.shape[1]].append(number)
    totals = np.empty((len(words), 2), dtype=np.int64)
    for (mode, _), numbers in alike.items():
        a, b = np.stack([words[number] for number in numbers], axis=1)
        totals[numbers] = np.stack(dot(a, b, Precision(mode)), axis=1)
    return totals


def sum_words(precision: Precision, count: int, rng: np.random.Generator) -> np.ndarray:
    """Words of the terms of one sum, of shape (2, count): any, tame ones, infinities, those that
    cancel, or those whose products are about as small as numbers get."""
    words = np.stack(random_words(precision, count, rng))
    kind = rng.integers(0, 5)
    if precision.integer:
        return words
    fmt = precision.fmt
    lanes = np.arange(precision.lanes) * precision.bits
    sign = (1 << (fmt.bits - 1) << lanes).sum()
    if kind == 0:  # no infinities and NaNs, so that a sum has a value
        lowest = (1 << fmt.mantissa_bits << lanes).sum()
        words &= ~lowest
    elif kind == 1 and count > 1:  # each pair is followed by its negative
        words[:, 1::2] = words[:, 0 : count - 1 : 2]
        words[0, 1::2] ^= sign
    elif kind >= 2:  # around one, or products around the smallest number
        exponents = (((1 << fmt.exponent_bits) - 1) << fmt.mantissa_bits << lanes).sum()
        drawn, least = (7, fmt.bias // 2 - 7) if kind == 4 else (0, fmt.bias)
        drawn, least = ((part << fmt.mantissa_bits << lanes).sum() for part in (drawn, least))
        words = words & (~exponents | drawn) | least
        if kind == 3:  # with some infinities, but no NaN and no zero
            infinite = words & sign | exponents
            words[0] = np.where(rng.integers(0, 4, count) == 0, infinite[0], words[0])
    return words
