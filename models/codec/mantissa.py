"""Elements with fewer mantissa bits, rounded before they are coded."""

import torch

from adagrain.models.arguments import whole
from adagrain.models.interface.formats import format_of

__all__ = ["with_mantissa_bits"]


def with_mantissa_bits(x: torch.Tensor, bits: int) -> torch.Tensor:
    """The nearest numbers whose lower mantissa bits are 0; of two, the one with an even last bit.

    Without mantissa bits that is the larger of two powers of two (IEEE 754-2019, 4.3.1).

    What is too large becomes infinite, what is too small a zero of its sign; NaNs stay as they are.

    Parameters
    ----------
    x : Tensor
        BF16 or FP16, any shape.
    bits : int
        Mantissa bits that are kept: from 0 to the format's.

    Raises
    ------
    TypeError
        If ``x`` has another type, or ``bits`` is no whole number.
    ValueError
        If ``bits`` is out of its range.
    """
    if x.dtype not in (torch.bfloat16, torch.float16):
        raise TypeError(f"dtype must be torch.bfloat16 or torch.float16, not {x.dtype}")
    fmt = format_of(x.dtype)
    bits = whole("bits", bits, fmt.mantissa_bits)
    drop = fmt.mantissa_bits - bits
    if not drop:
        return x.clone()
    words = x.resolve_neg().contiguous().view(torch.int16)
    magnitude = words & 0x7FFF
    infinite = ((1 << fmt.exponent_bits) - 1) << fmt.mantissa_bits
    normal = magnitude >> fmt.mantissa_bits != 0
    # the last bit that is kept is the hidden one where there is no other
    odd = magnitude >> drop & 1 if bits else normal.to(torch.int16)
    # a NaN would leave its range: it is put back below
    rounded = (magnitude.clamp(max=infinite) + (odd + ((1 << drop - 1) - 1))) >> drop << drop
    signed = torch.where(magnitude > infinite, words, rounded | words & -0x8000)
    return signed.view(x.dtype)
