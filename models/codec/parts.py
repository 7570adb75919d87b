"""A frame in parts: what both the encoder and the decoder know of its layout."""

import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adagrain.models.interface.codec import GradientHeader, RegionHeader, TableNumber
from adagrain.models.interface.formats import ElementFormat
from adagrain.models.interface.records import size

from .table import CodeTable

__all__ = ["CHECKSUM", "HEADER_SIZE", "REGION_SIZE", "Parts", "checksum"]

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
    tables : list of CodeTable or None
        By slot.
    counts, bases : ndarray of int64, (regions,)
        Elements of each region, and its base exponent.
    first_blocks : ndarray of int64, (regions + 1,)
        The number of each region's first block, and that of all blocks.
    slots : ndarray of uint8, (regions,)
    sizes : ndarray of int32, (blocks,)
        Bytes of each block.
    blocks : ndarray of uint8
        All of them.
    """

    fmt: ElementFormat
    mantissa_bits: int
    tables: list[CodeTable | None]
    counts: np.ndarray
    bases: np.ndarray
    first_blocks: np.ndarray
    slots: np.ndarray
    sizes: np.ndarray
    blocks: np.ndarray


def checksum(body: bytes | memoryview, tables: Sequence[CodeTable | None]) -> int:
    """CRC-32 over the tables that a frame names and does not carry, and the frame so far."""
    named = [t.lengths for t in tables if t and t.number != TableNumber.CARRIED]
    return zlib.crc32(body, zlib.crc32(b"".join(named)))
