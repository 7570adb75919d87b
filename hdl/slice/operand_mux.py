"""The numbers that the four multipliers get in each precision."""

from collections.abc import Iterator, Sequence

from amaranth.hdl import Array, Const, Module, Value
from amaranth.lib import data

from adagrain.hdl.arithmetic.float.operand import unpack_operand
from adagrain.models.interface.precision import Precision

__all__ = ["FIELD", "MULTIPLIERS", "WIDTH", "factors", "numbers"]

#: Multipliers of a slice, and bits of their signed operands.
MULTIPLIERS, WIDTH = 4, 14

#: Place of the upper number where two of INT4 share an operand; the middle field of the product,
#: ``FIELD`` bits from there on, is the sum of two products.
FIELD = 9

#: Half of FP32's significand.
_HALF = 12


def numbers(m: Module, word: Value, precision: Precision) -> list[data.View]:
    """The floating-point numbers in a word, unpacked, combinationally."""
    lanes = range(precision.lanes)
    return [unpack_operand(m, word.word_select(n, precision.bits), precision.fmt) for n in lanes]


def factors(
    mode: Value,
    words: tuple[Value, Value],
    wide: Sequence[data.View],
    narrow: Sequence[Sequence[data.View]],
) -> Iterator[tuple[Value, Value]]:
    """Operands of each multiplier.

    Parameters
    ----------
    mode : Value
        :class:`Precision`.
    words : tuple of Value
        The words ``a`` and ``b``.
    wide : sequence of view of unpacked_layout
        Of each word, its FP32 number, unpacked.
    narrow : sequence of sequence of view of unpacked_layout
        Of each word, its FP16 numbers, unpacked.
    """
    for number in range(MULTIPLIERS):
        chosen = []
        for side, half in enumerate((number & 1, number >> 1)):
            by_mode = {
                Precision.FP32: wide[side].significand.word_select(half, _HALF),
                Precision.FP16: _narrow(narrow[side], number),
                Precision.INT8: words[side].word_select(number, 8).as_signed(),
                Precision.INT4: _pair(words[side], number, swapped=side == 1),
            }
            chosen.append(Array(by_mode[precision] for precision in Precision)[mode])
        yield chosen[0], chosen[1]


def _narrow(lanes: Sequence[data.View], number: int) -> Value:
    return lanes[number].significand if number < len(lanes) else Const(0, 1)


def _pair(word: Value, number: int, *, swapped: bool) -> Value:
    """Two numbers of 4 bits as one, the second one above; the other way round where ``swapped``."""
    first, second = (word.word_select(2 * number + n, 4).as_signed() for n in range(2))
    low, high = (second, first) if swapped else (first, second)
    return (high << FIELD) + low
