"""Layouts of inputs and outputs of the units that rescale and pack."""

from amaranth.hdl import signed, unsigned
from amaranth.lib import data

from adagrain.hdl.arithmetic.float.operand import RESULT_FLAGS
from adagrain.models.interface.precision import WORD_BITS

__all__ = ["number_layout", "packed_layout", "sum_layout"]


def sum_layout() -> data.StructLayout:
    """A sum, and what is to become of it.

    Members
    -------
    word : ``unsigned(32)``
        Of FP32, of FP16 with zeros above, or an integer of 32 bits.
    flags : ``RESULT_FLAGS``
        All that it has raised.
    mode : ``unsigned(2)``
        Its precision.
    exponent : ``signed(8)``
        Of the power of two that it is multiplied by.
    to : ``unsigned(2)``
        Precision of the result.
    last : ``unsigned(1)``
        It is its row's last one.
    """
    return data.StructLayout(
        {
            "word": unsigned(WORD_BITS),
            "flags": RESULT_FLAGS,
            "mode": unsigned(2),
            "exponent": signed(8),
            "to": unsigned(2),
            "last": unsigned(1),
        }
    )


def number_layout() -> data.StructLayout:
    """A number of a row.

    Members
    -------
    word : ``unsigned(32)``
        Its bits, with zeros above.
    flags : ``RESULT_FLAGS``
        What the sum and its rounding have raised.
    to : ``unsigned(2)``
        Its precision.
    last : ``unsigned(1)``
        It is its row's last one.
    """
    return data.StructLayout(
        {
            "word": unsigned(WORD_BITS),
            "flags": RESULT_FLAGS,
            "to": unsigned(2),
            "last": unsigned(1),
        }
    )


def packed_layout() -> data.StructLayout:
    """Numbers in a word.

    Members
    -------
    word : ``unsigned(32)``
        The numbers, little end first.
    flags : ``RESULT_FLAGS``
        What any of them has raised.
    last : ``unsigned(1)``
        It is its row's last word.
    """
    return data.StructLayout(
        {"word": unsigned(WORD_BITS), "flags": RESULT_FLAGS, "last": unsigned(1)}
    )
