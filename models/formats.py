"""The table of number formats in which tensors enter the device."""

import enum
from dataclasses import dataclass

import torch

__all__ = ["ElementFormat", "FormatCode", "format_of"]


class FormatCode(enum.IntEnum):
    """How a format is named on the wire. New formats go to the end."""

    FP32 = 0
    FP16 = 1
    BF16 = 2


@dataclass(frozen=True)
class ElementFormat:
    """One IEEE-like binary format.

    Parameters
    ----------
    code : FormatCode
        Its name on the wire.
    bits : int
        Width of an element.
    exponent_bits, mantissa_bits : int
        Widths of the exponent field and of the stored significand.
    dtype : torch.dtype
        The torch type of the same format.
    """

    code: FormatCode
    bits: int
    exponent_bits: int
    mantissa_bits: int
    dtype: torch.dtype

    @property
    def bias(self) -> int:
        """The exponent field of 1.0."""
        return (1 << (self.exponent_bits - 1)) - 1


FORMATS: dict[FormatCode, ElementFormat] = {
    row.code: row
    for row in (
        ElementFormat(FormatCode.FP32, 32, 8, 23, torch.float32),
        ElementFormat(FormatCode.FP16, 16, 5, 10, torch.float16),
        ElementFormat(FormatCode.BF16, 16, 8, 7, torch.bfloat16),
    )
}


def format_of(dtype: torch.dtype) -> ElementFormat:
    """The row of the table for a torch type.

    Raises
    ------
    TypeError
        If no format of the table has that type.
    """
    for row in FORMATS.values():
        if row.dtype == dtype:
            return row
    known = ", ".join(str(row.dtype) for row in FORMATS.values())
    raise TypeError(f"dtype must be one of {known}, not {dtype}")
