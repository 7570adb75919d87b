"""Half binades of elements of 16 bits."""

from amaranth.hdl import Mux, Value, ValueLike

from adagrain.models.interface.formats import FORMATS, FormatCode

__all__ = ["half_binade"]


def half_binade(word: Value, is_bf16: ValueLike) -> Value:
    """Exponent field of an element, and the top bit of its mantissa below, 9 bits.

    Parameters
    ----------
    word : Value
        BF16 or FP16, 16 bits.
    is_bf16 : ValueLike
        Which of both.
    """
    bf16, fp16 = (FORMATS[code].mantissa_bits - 1 for code in (FormatCode.BF16, FormatCode.FP16))
    return Mux(is_bf16, word[bf16:-1], word[fp16:-1])
