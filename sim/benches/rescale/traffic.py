"""Sums of all precisions and what becomes of them; rows of numbers and their words."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adagrain.hdl.rescale import Packer
from adagrain.models.arithmetic.float import Flag, Rounded
from adagrain.models.interface.precision import Precision
from adagrain.models.rescale import EXPONENTS, packed_rows, rescale
from adagrain.sim.benches.float.traffic import extreme, raised, special
from adagrain.sim.simulators.stimulus import Columns, Stimulus

__all__ = ["random_flags", "random_sums", "stimulus"]

Words = NDArray[np.int64]


def stimulus(unit: Any, count: int, rng: np.random.Generator) -> Stimulus:
    """So many elements for a unit, and what comes out."""
    if isinstance(unit, Packer):
        return _rows(unit.precisions, count, rng)
    return _sums(unit.PRECISIONS, count, rng)


def random_flags(shape: Any, rng: np.random.Generator) -> Words:
    """Exception flags, few of which are raised."""
    every = int(~Flag(0)) + 1
    return rng.integers(0, every, shape) & rng.integers(0, every, shape)


def _sums(precisions: tuple[Precision, ...], count: int, rng: np.random.Generator) -> Stimulus:
    """Sums that change mode, exponent and precision with each."""
    kinds = np.array([(mode, to) for mode in precisions for to in precisions])
    kind, last = rng.integers(0, len(kinds), count), rng.integers(0, 2, count)
    flags = random_flags(count, rng)
    words, exponents, found, rounding = np.zeros((4, count), dtype=np.int64)
    for number, (mode, to) in enumerate(kinds.tolist()):
        chosen, precision = kind == number, (Precision(mode), Precision(to))
        words[chosen], exponents[chosen] = random_sums(*precision, int(chosen.sum()), rng)
        found[chosen], rounding[chosen] = rescale(
            words[chosen], precision[0], exponents[chosen], precision[1]
        )
    modes, to = kinds[kind].T
    given = {"word": words, "flags": raised(flags), "mode": modes, "exponent": exponents}
    wanted = {"word": found, "flags": raised(flags | rounding), "to": to, "last": last}
    return Stimulus({"i": Columns(given | {"to": to, "last": last})}, {"o": Columns(wanted)})


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
        fmt = mode.fmt
        chosen = rng.choice(np.concatenate([special(fmt), extreme(fmt)]), count)
        words = np.where(
            rng.integers(0, 4, count) == 0, chosen, rng.integers(0, 1 << fmt.bits, count)
        )
        highest = (words >> fmt.mantissa_bits & (1 << fmt.exponent_bits) - 1) - fmt.bias
    if to.integer:
        low, high = -2, to.bits + 2
    else:
        low, high = -to.fmt.bias - to.fmt.mantissa_bits - 2, to.fmt.bias + 3
    near = np.clip(rng.integers(low, high, count) - highest, EXPONENTS[0], EXPONENTS[-1])
    anywhere = rng.integers(EXPONENTS[0], EXPONENTS[-1] + 1, count)
    return words, np.where(rng.integers(0, 4, count) == 0, anywhere, near)


def _rows(precisions: tuple[Precision, ...], count: int, rng: np.random.Generator) -> Stimulus:
    """Rows of one to twenty numbers, each row of one precision; at least so many numbers."""
    given: list[Words] = []
    wanted: list[Words] = []
    while sum(fmt.shape[1] for fmt in given) < count:
        columns, to = int(rng.integers(1, 21)), precisions[rng.integers(0, len(precisions))]
        shape = 1, columns
        numbers = Rounded(rng.integers(0, 1 << to.bits, shape), random_flags(shape, rng))
        words = packed_rows(numbers, to)
        given.append(np.stack([*numbers, np.full(shape, to), _last(columns)])[:, 0])
        wanted.append(np.stack([*words, _last(words.words.shape[1])])[:, 0])
    word, flags, to, last = np.concatenate(given, axis=1)
    elements = {"word": word, "flags": raised(flags), "to": to, "last": last}
    word, flags, last = np.concatenate(wanted, axis=1)
    results = {"word": word, "flags": raised(flags), "last": last}
    return Stimulus({"i": Columns(elements)}, {"o": Columns(results)})


def _last(columns: int) -> Words:
    return (np.arange(columns) == columns - 1).astype(np.int64)[np.newaxis]
