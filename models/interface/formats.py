"""The table of number formats."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["FORMATS", "STREAMED", "ElementFormat", "FormatCode", "format_of"]


class FormatCode(enum.IntEnum):
    """Codes of formats on the wire. New formats go to the end."""

    FP32 = 0
    FP16 = 1
    BF16 = 2
    FP8_E4M3 = 3
    FP8_E5M2 = 4


@dataclass(frozen=True)
class ElementFormat:
    """One binary format.

    All are as IEEE 754 has it, but for E4M3 (Micikevicius et al., "FP8 formats for deep learning",
    2022): it has no infinities, one NaN of either sign, and finite numbers in between.

    Parameters
    ----------
    code : FormatCode
        Its name on the wire.
    bits : int
        Width of an element.
    exponent_bits, mantissa_bits : int
        Widths of the exponent field and of the stored significand.
    type_name : str
        Name of the torch type of the same format.
    infinities : bool
        Whether the largest exponent field is kept for infinities and NaNs.
    """

    code: FormatCode
    bits: int
    exponent_bits: int
    mantissa_bits: int
    type_name: str
    infinities: bool = True

    @property
    def dtype(self) -> torch.dtype:
        """The torch type of the same format; PyTorch is loaded when it is asked for."""
        import torch

        dtype: torch.dtype = getattr(torch, self.type_name)
        return dtype

    @property
    def overflow_value(self) -> int:
        """The magnitude that what is too large becomes: that of infinity, or of the NaN."""
        fields = self.exponent_bits + self.mantissa_bits
        return (1 << fields) - (1 << self.mantissa_bits if self.infinities else 1)

    @property
    def quiet_nan(self) -> int:
        """The canonical NaN."""
        fields = self.exponent_bits + self.mantissa_bits
        return (1 << fields) - (1 << self.mantissa_bits - 1 if self.infinities else 1)

    @property
    def largest_exponent(self) -> int:
        """The exponent field of the largest numbers of a format that has infinities."""
        return (1 << self.exponent_bits) - 2

    @property
    def bias(self) -> int:
        """The exponent field of 1.0."""
        return (1 << (self.exponent_bits - 1)) - 1


FORMATS: dict[FormatCode, ElementFormat] = {
    fmt.code: fmt
    for fmt in (
        ElementFormat(FormatCode.FP32, 32, 8, 23, "float32"),
        ElementFormat(FormatCode.FP16, 16, 5, 10, "float16"),
        ElementFormat(FormatCode.BF16, 16, 8, 7, "bfloat16"),
        ElementFormat(FormatCode.FP8_E4M3, 8, 4, 3, "float8_e4m3fn", infinities=False),
        ElementFormat(FormatCode.FP8_E5M2, 8, 5, 2, "float8_e5m2"),
    )
}

#: Formats in which tensors can enter a device.
STREAMED = (FormatCode.FP32, FormatCode.FP16, FormatCode.BF16)


def format_of(dtype: torch.dtype) -> ElementFormat:
    """The format of the torch type of a tensor that is to enter a device.

    Raises
    ------
    TypeError
        If no format that can has that type.
    """
    found = _streamed().get(dtype)
    if found is None:
        raise TypeError(f"dtype must be one of {', '.join(map(str, _streamed()))}, not {dtype}")
    return found


@cache
def _streamed() -> dict[torch.dtype, ElementFormat]:
    """Formats in which tensors can enter a device, by torch type."""
    return {FORMATS[code].dtype: FORMATS[code] for code in STREAMED}
