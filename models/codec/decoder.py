"""The golden decoder: a frame to tensors, or a clear error and none."""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from adagrain.models.arguments import whole
from adagrain.models.interface.codec import BLOCK, CODED_FORMATS, BlockOutcome
from adagrain.models.interface.formats import ElementFormat

from .bits import as_words
from .canonical import lookup
from .decoder_kernel import unpack, unpack_block
from .dissection import dissect
from .errors import CodecError
from .parts import Parts
from .table import CodeTable

__all__ = ["Unpacking", "decode", "decode_by", "decoded_block", "elements_of_parts"]

#: Makes the words of all regions' elements of a frame that was taken apart.
Unpacking = Callable[[Parts], np.ndarray]

#: What is wrong with a block, by what the kernel finds.
_WRONG = {
    BlockOutcome.CUT: (
        "must end with an element or padding, not {number} bits before an element's end"
    ),
    BlockOutcome.BEYOND: "must have elements at places below its count, not at {number}",
    BlockOutcome.BELOW: "must have magnitudes from the half binade 0 on, not {number}",
}


def decode(
    frame: bytes,
    *,
    tables: Sequence[CodeTable] = (),
    counts: Sequence[int] | None = None,
    most: int = 1 << 28,
) -> list[torch.Tensor]:
    """The regions' tensors, each of one dimension; bit for bit those that were encoded.

    Parameters
    ----------
    frame : bytes, bytearray or memoryview
        The frame, and nothing else.
    tables : sequence of CodeTable
        Those that both sides have agreed on, besides the defaults, by numbers of their own.
    counts : sequence of int or None
        Elements that each region must have, below 2^32; ``None``: any.
    most : int
        Elements that a frame may have in all: what is not zero takes bytes, zeros do not.

    Raises
    ------
    CodecError
        If the frame is not as it must be; the value is named, and what it must be.
    TypeError, ValueError
        If another argument is not, or tables that differ have the same number.
    """
    return decode_by(elements_of_parts, frame, tables, counts, most)


def decode_by(
    unpacking: Unpacking,
    frame: bytes,
    tables: Sequence[CodeTable],
    counts: Sequence[int] | None,
    most: int,
) -> list[torch.Tensor]:
    """As :func:`decode`, by whatever decodes the blocks: the golden decoder, or a device.

    Parameters
    ----------
    unpacking : Unpacking
        Decodes them.
    frame, tables, counts, most
        As those of :func:`decode`.
    """
    parts = dissect(frame, tables, most, counts)
    found = parts.counts.tolist()
    if not parts.elements:
        return [torch.empty(0, dtype=parts.fmt.dtype) for _ in found]
    elements = torch.frombuffer(unpacking(parts), dtype=parts.fmt.dtype)
    # without what autograd needs of views, which takes as long as to decode thousands of elements
    return [*torch.unsafe_split_with_sizes(elements, found)]


def decoded_block(
    raw: bytes,
    count: int,
    fmt: ElementFormat,
    exponent: int,
    table: CodeTable,
    mantissa_bits: int | None = None,
) -> tuple[torch.Tensor, BlockOutcome]:
    """Elements that a device makes of one coded block, whatever its bytes are, and its outcome.

    From the first element that is wrong on, all elements are +0.

    Parameters
    ----------
    raw : bytes
        The block; none where all its elements are +0.
    count : int
        Its elements, 4096 at most.
    fmt : ElementFormat
        FP16 or BF16.
    exponent, table, mantissa_bits
        As those of :func:`adagrain.models.codec.coded_blocks`.

    Raises
    ------
    TypeError, ValueError
        If the format is another one, or a number is no whole number, or out of its range.
    """
    if fmt.code not in CODED_FORMATS:
        known = " or ".join(code.name for code in CODED_FORMATS)
        raise ValueError(f"fmt must be {known}, not {fmt.code.name}")
    given = fmt.mantissa_bits if mantissa_bits is None else mantissa_bits
    kept = whole("mantissa_bits", given, fmt.mantissa_bits)
    base = whole("exponent", exponent, fmt.largest_exponent)
    words = np.zeros(whole("count", count, BLOCK), dtype=np.uint16)
    found, _ = unpack_block(
        as_words(np.frombuffer(raw, dtype=np.uint8)),
        0,
        8 * len(raw),
        lookup(np.frombuffer(table.lengths, dtype=np.uint8), kept),
        base,
        fmt.mantissa_bits,
        kept,
        words,
    )
    return torch.from_numpy(words.view(np.int16)).view(fmt.dtype), BlockOutcome(found)


def elements_of_parts(parts: Parts) -> np.ndarray:
    """The words of all regions, by the golden decoder; errors as those of :func:`decode`."""
    words = np.empty(parts.elements, dtype=np.uint16)
    found, region, block, number = unpack(
        parts.blocks,
        parts.counts,
        parts.first_blocks,
        parts.sizes,
        parts.bases,
        parts.slots,
        parts.lengths,
        parts.fmt.mantissa_bits,
        parts.mantissa_bits,
        words,
    )
    if found != BlockOutcome.FINE:
        wrong = _WRONG[found].format(number=number)
        raise CodecError(f"block {block} of region {region} {wrong}")
    return words
