"""A floating-point number, unpacked: sign, exponent, significand, class."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data

from adagrain.hdl.checks import check_kind
from adagrain.models.interface.formats import ElementFormat

__all__ = [
    "RESULT_FLAGS",
    "check_format",
    "operands_layout",
    "result_layout",
    "unpack_operand",
    "unpacked_layout",
]

#: The exception flags, each at the bit that it has in the model.
RESULT_FLAGS = data.StructLayout(
    {
        name: unsigned(1)
        for name in ("inexact", "underflow", "overflow", "divide_by_zero", "invalid")
    }
)


def check_format(name: str, fmt: ElementFormat) -> None:
    """Make sure that a parameter is a format that the units of this folder can compute in.

    Raises
    ------
    TypeError
        If it is no format.
    ValueError
        If it has no infinities: NaNs would be taken for them.
    """
    check_kind(name, fmt, ElementFormat)
    if not fmt.infinities:
        raise ValueError(f"{name} must be a format with infinities, not {fmt.code.name}")


def result_layout(fmt: ElementFormat) -> data.StructLayout:
    """A result.

    Members
    -------
    word : ``unsigned(fmt.bits)``
        The number.
    flags : ``RESULT_FLAGS``
        What it raises.
    """
    return data.StructLayout({"word": unsigned(fmt.bits), "flags": RESULT_FLAGS})


def operands_layout(fmt: ElementFormat) -> data.StructLayout:
    """Two words, ``a`` and ``b``."""
    return data.StructLayout({"a": unsigned(fmt.bits), "b": unsigned(fmt.bits)})


def unpacked_layout(fmt: ElementFormat) -> data.StructLayout:
    """A number, unpacked.

    Members
    -------
    sign : ``unsigned(1)``
        It is negative.
    significand : ``unsigned(fmt.mantissa_bits + 1)``
        With the hidden bit; 0 for infinities.
    exponent : ``unsigned(fmt.exponent_bits)``
        The biased one of its highest bit: 1 for subnormal numbers too.
    zero, infinite, nan, signalling : ``unsigned(1)``
        Its class; a signalling NaN is a NaN.
    """
    return data.StructLayout(
        {
            "sign": unsigned(1),
            "significand": unsigned(fmt.mantissa_bits + 1),
            "exponent": unsigned(fmt.exponent_bits),
            "zero": unsigned(1),
            "infinite": unsigned(1),
            "nan": unsigned(1),
            "signalling": unsigned(1),
        }
    )


def unpack_operand(m: Module, word: Value, fmt: ElementFormat) -> data.View:
    """A word's sign, exponent, significand and class, combinationally."""
    operand = Signal(unpacked_layout(fmt))
    fraction = word[: fmt.mantissa_bits]
    field = word[fmt.mantissa_bits : fmt.bits - 1]
    special, normal = field.all(), field.any()
    m.d.comb += [
        operand.sign.eq(word[fmt.bits - 1]),
        operand.significand.eq(Mux(special, 0, Cat(fraction, normal))),
        operand.exponent.eq(Mux(normal, field, 1)),
        operand.zero.eq(~normal & ~fraction.any()),
        operand.infinite.eq(special & ~fraction.any()),
        operand.nan.eq(special & fraction.any()),
        operand.signalling.eq(special & fraction.any() & ~fraction[-1]),
    ]
    return operand
