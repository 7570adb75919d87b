"""A frame in parts: what both the encoder and the decoder know of its layout."""

import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adagrain.models.interface.codec import (
    SLOTS,
    SYMBOLS,
    GradientHeader,
    RegionHeader,
    TableNumber,
)
from adagrain.models.interface.formats import ElementFormat
from adagrain.models.interface.records import size

from .table import CodeTable

__all__ = ["CHECKSUM", "HEADER_SIZE", "REGION_SIZE", "Parts", "checksum", "lengths_of"]

HEADER_SIZE, REGION_SIZE = size(GradientHeader), size(RegionHeader)

#: How the checksum stands in a frame.
CHECKSUM = struct.Struct("<I")


class Parts(NamedTuple):
    """A frame, taken apart.

    Members
    -------
    fmt : ElementFormat
    mantissa_bits : int
        Of each coded element.
    numbers : tuple of int
        By slot, those of its table.
    lengths : ndarray of uint8, (2, 417)
        By slot, its table's code lengths; zeros where it has none.
    counts, bases : ndarray of int64, (regions,)
        Elements of each region, and its base exponent.
    first_blocks : ndarray of int64, (regions + 1,)
        The number of each region's first block, and that of all blocks.
    slots : ndarray of uint8, (regions,)
    sizes : ndarray of int32, (blocks,)
        Bytes of each block.
    blocks : ndarray of uint8
        All of them.
    elements : int
        Of all regions.
    """

    fmt: ElementFormat
    mantissa_bits: int
    numbers: tuple[int, ...]
    lengths: np.ndarray
    counts: np.ndarray
    bases: np.ndarray
    first_blocks: np.ndarray
    slots: np.ndarray
    sizes: np.ndarray
    blocks: np.ndarray
    elements: int

    @property
    def tables(self) -> list[CodeTable | None]:
        """The tables by slot."""
        return [
            CodeTable(own.tobytes(), number) if number else None
            for number, own in zip(self.numbers, self.lengths, strict=True)
        ]


def lengths_of(tables: Sequence[CodeTable | None]) -> np.ndarray:
    """Code lengths of tables, uint8, (2, 417); zeros where there is none."""
    lengths = np.zeros((SLOTS, SYMBOLS), dtype=np.uint8)
    for slot, table in enumerate(tables):
        if table is not None:
            lengths[slot] = np.frombuffer(table.lengths, dtype=np.uint8)
    return lengths


def checksum(body: bytes | memoryview, numbers: Sequence[int], lengths: np.ndarray) -> int:
    """CRC-32 over the tables that a frame names and does not carry, and the frame so far."""
    start = 0
    for number, own in zip(numbers, lengths, strict=True):
        if number > TableNumber.CARRIED:
            start = zlib.crc32(own.data, start)
    return zlib.crc32(body, start)
