"""Operands for the floating-point units, and what the golden model makes of them."""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adagrain.hdl.arithmetic.float import Adder, Converter, Multiplier
from adagrain.models.arithmetic.float import Flag, add, convert, multiply
from adagrain.models.interface.formats import ElementFormat
from adagrain.sim.simulators.stimulus import Columns, Stimulus

__all__ = [
    "arithmetic_operands",
    "extreme",
    "operands",
    "pairs",
    "raised",
    "singles",
    "special",
    "stimulus",
]

Words = NDArray[np.int64]


def special(fmt: ElementFormat) -> Words:
    """Numbers at all borders: of the format, of rounding, of subnormals; NaNs of both kinds."""
    top, mantissa = (1 << fmt.exponent_bits) - 1, 1 << fmt.mantissa_bits
    middle = (fmt.mantissa_bits, fmt.bias - 1, fmt.bias, fmt.bias + 1)
    fields = {0, 1, 2, *middle, top - 2, top - 1, top}
    fractions = {0, 1, 2, 3, mantissa // 2 - 1, mantissa // 2, mantissa // 2 + 1, mantissa - 1}
    signs = (0, 1 << (fmt.bits - 1))
    parts = itertools.product(signs, sorted(fields), sorted(fractions))
    return np.array([sign | field * mantissa | rest for sign, field, rest in parts])


def pairs(fmt: ElementFormat, count: int, rng: np.random.Generator) -> list[Words]:
    """Random pairs; half of them close to each other, or to each other's negative."""
    a, b = rng.integers(0, 1 << fmt.bits, (2, count))
    step = rng.integers(-3, 4, count) << fmt.mantissa_bits
    near = a + step ^ rng.integers(0, 1 << fmt.mantissa_bits // 2, count) ^ b & 1 << (fmt.bits - 1)
    return [a, np.where(rng.integers(0, 2, count), b, near & (1 << fmt.bits) - 1)]


def singles(source: ElementFormat, target: ElementFormat, rng: np.random.Generator) -> Words:
    """Numbers to convert: a few, of which one in two is near the target's range."""
    words = rng.integers(0, 1 << source.bits, 1_000)
    reach = min(source.bias, target.bias + target.mantissa_bits + 4)
    field = rng.integers(source.bias - reach, source.bias + reach, len(words))
    near = words & ~(((1 << source.exponent_bits) - 1) << source.mantissa_bits)
    return np.where(words & 1, words, near | field << source.mantissa_bits)


def extreme(fmt: ElementFormat) -> Words:
    """Zeros, ones, infinities, NaNs of both kinds, the smallest and the largest numbers."""
    infinity = ((1 << fmt.exponent_bits) - 1) << fmt.mantissa_bits
    quiet = infinity | 1 << (fmt.mantissa_bits - 1)
    one = fmt.bias << fmt.mantissa_bits
    positive = np.array([0, 1, one, infinity - 1, infinity, infinity + 1, quiet])
    return np.concatenate([positive, positive | 1 << (fmt.bits - 1)])


def operands(unit: Any, count: int, rng: np.random.Generator) -> list[Words]:
    """Columns of operands for a unit: random, special and extreme ones, and opposite pairs."""
    if isinstance(unit, Converter):
        chosen = special(unit.source), extreme(unit.source), singles(unit.source, unit.target, rng)
        return [rng.choice(np.concatenate(chosen), count)]
    return arithmetic_operands(unit.fmt, count, rng)


def arithmetic_operands(fmt: ElementFormat, count: int, rng: np.random.Generator) -> list[Words]:
    """Two columns of operands: random, special and extreme ones, and opposite pairs."""
    a, b = pairs(fmt, count, rng)
    kinds = [
        (a, b),
        (a, a ^ (rng.integers(0, 2, count) << (fmt.bits - 1))),
        rng.choice(special(fmt), (2, count)),
        rng.choice(extreme(fmt), (2, count)),
    ]
    kind = rng.choice(len(kinds), count, p=[0.5, 0.1, 0.2, 0.2])
    return [np.choose(kind, columns) for columns in zip(*kinds, strict=True)]


def stimulus(unit: Any, count: int, rng: np.random.Generator) -> Stimulus:
    """So many operands, or pairs of them, and the golden model's results."""
    columns = operands(unit, count, rng)
    given: Any = dict(zip("ab", columns, strict=False))
    match unit:
        case Multiplier():
            rounded = multiply(columns[0], columns[1], unit.fmt)
        case Adder():
            rounded = add(columns[0], columns[1], unit.fmt)
        case Converter():
            (given,) = columns
            rounded = convert(given, unit.source, unit.target)
    results = {"word": rounded.words, "flags": raised(rounded.flags)}
    return Stimulus({"i": Columns(given)}, {"o": Columns(results)})


def raised(flags: Words) -> dict[str, Words]:
    """Exception flags by name, as gateware has them."""
    return {str(flag.name).lower(): (flags & flag != 0).astype(np.int64) for flag in Flag}
