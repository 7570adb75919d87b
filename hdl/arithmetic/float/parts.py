"""A floating-point number taken apart."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data

from adagrain.hdl.checks import check_kind
from adagrain.models.interface.formats import ElementFormat

__all__ = [
    "RESULT_FLAGS",
    "check_format",
    "operands_layout",
    "parts_layout",
    "result_layout",
    "take_apart",
]

#: The exception flags, each at the bit that it has in the model.
RESULT_FLAGS = data.StructLayout(
    {
        name: unsigned(1)
        for name in ("inexact", "underflow", "overflow", "divide_by_zero", "invalid")
    }
)


def check_format(name: str, row: ElementFormat) -> None:
    """Make sure that a parameter is a format that the units of this folder can compute in.

    Raises
    ------
    TypeError
        If it is no format.
    ValueError
        If it has no infinities: NaNs would be taken for them.
    """
    check_kind(name, row, ElementFormat)
    if not row.infinities:
        raise ValueError(f"{name} must be a format with infinities, not {row.code.name}")


def result_layout(row: ElementFormat) -> data.StructLayout:
    """A result.

    Members
    -------
    word : ``unsigned(row.bits)``
        The number.
    flags : ``RESULT_FLAGS``
        What it raises.
    """
    return data.StructLayout({"word": unsigned(row.bits), "flags": RESULT_FLAGS})


def operands_layout(row: ElementFormat) -> data.StructLayout:
    """Two words, ``a`` and ``b``."""
    return data.StructLayout({"a": unsigned(row.bits), "b": unsigned(row.bits)})


def parts_layout(row: ElementFormat) -> data.StructLayout:
    """A number's parts.

    Members
    -------
    sign : ``unsigned(1)``
        It is negative.
    significand : ``unsigned(row.mantissa_bits + 1)``
        With the hidden bit; 0 for infinities.
    exponent : ``unsigned(row.exponent_bits)``
        The biased one of its highest bit: 1 for subnormal numbers too.
    zero, infinite, nan, signalling : ``unsigned(1)``
        Its class; a signalling NaN is a NaN.
    """
    return data.StructLayout(
        {
            "sign": unsigned(1),
            "significand": unsigned(row.mantissa_bits + 1),
            "exponent": unsigned(row.exponent_bits),
            "zero": unsigned(1),
            "infinite": unsigned(1),
            "nan": unsigned(1),
            "signalling": unsigned(1),
        }
    )


def take_apart(m: Module, word: Value, row: ElementFormat) -> data.View:
    """Parts of a word, combinationally."""
    parts = Signal(parts_layout(row))
    fraction = word[: row.mantissa_bits]
    field = word[row.mantissa_bits : row.bits - 1]
    special, normal = field.all(), field.any()
    m.d.comb += [
        parts.sign.eq(word[row.bits - 1]),
        parts.significand.eq(Mux(special, 0, Cat(fraction, normal))),
        parts.exponent.eq(Mux(normal, field, 1)),
        parts.zero.eq(~normal & ~fraction.any()),
        parts.infinite.eq(special & ~fraction.any()),
        parts.nan.eq(special & fraction.any()),
        parts.signalling.eq(special & fraction.any() & ~fraction[-1]),
    ]
    return parts
