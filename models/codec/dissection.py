"""Takes frames apart, and checks all of them but the insides of their blocks."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adagrain.models.interface.codec import (
    CODEC_MAGIC,
    CODEC_VERSION,
    CODED_FORMATS,
    SLOTS,
    GradientHeader,
    TableNumber,
)
from adagrain.models.interface.formats import FORMATS, ElementFormat, FormatCode
from adagrain.models.interface.records import unpack

from .bits import as_words
from .block_numbers import first_blocks_of
from .defaults import DEFAULT_TABLES
from .errors import CodecError
from .parser_kernel import (
    EXPONENT,
    FINE,
    LENGTH,
    NO_TABLE,
    RESERVED,
    WIDEST,
    WIDTH,
    read_regions,
    read_sizes,
)
from .parts import CHECKSUM, HEADER_SIZE, REGION_SIZE, Parts, checksum
from .sizes_kernel import bits_of_sizes
from .table import CodeTable

__all__ = ["dissect", "region_bytes"]


def dissect(frame: bytes, agreed: Sequence[CodeTable], most: int) -> Parts:
    """Take a frame apart, and check all of it but the insides of its blocks.

    Parameters
    ----------
    frame : bytes
        The frame, and nothing else.
    agreed : sequence of CodeTable
        Tables that it may name, besides the defaults.
    most : int
        Elements that it may have in all.

    Raises
    ------
    CodecError
        If something is not as it must be; the value is named, and what it must be.
    """
    header = _header(frame)
    fmt = FORMATS[FormatCode(header["format"])]
    numbers = [header[f"table_{slot}"] for slot in range(SLOTS)]
    known = {table.number: table for table in (*DEFAULT_TABLES.values(), *agreed)}
    tables = [None if n <= TableNumber.CARRIED else _known(n, known) for n in numbers]
    _check_checksum(frame, tables)

    rest = np.frombuffer(frame, dtype=np.uint8)[HEADER_SIZE : -CHECKSUM.size]
    regions, rest = _regions(rest, header["regions"], fmt, most)
    for slot, number in enumerate(numbers):
        if number == TableNumber.CARRIED:
            tables[slot], used = CodeTable.from_carried(rest)
            rest = rest[used:]
    sizes, total, rest = _sizes(rest, regions, tables)
    if total != len(rest):
        raise CodecError(f"blocks must have {total} bytes in all, not {len(rest)}")
    return Parts(
        fmt,
        header["mantissa_bits"],
        tables,
        regions.counts,
        regions.bases,
        regions.first_blocks,
        regions.slots,
        sizes,
        rest,
    )


def region_bytes(
    frame: bytes, *, tables: Sequence[CodeTable] = (), most: int = 1 << 28
) -> list[int]:
    """Bytes that the blocks of each region of a frame have.

    Parameters and errors are those of :func:`~adagrain.models.codec.decode`.
    """
    parts = dissect(frame, tables, most)
    ends = np.concatenate([[0], np.cumsum(parts.sizes, dtype=np.int64)])[parts.first_blocks]
    return np.diff(ends).tolist()


def _header(frame: bytes) -> dict[str, int]:
    if len(frame) < HEADER_SIZE + CHECKSUM.size:
        raise CodecError(
            f"frame must have at least {HEADER_SIZE + CHECKSUM.size} bytes, not {len(frame)}"
        )
    header = unpack(GradientHeader, frame[:HEADER_SIZE])
    for name, wanted in (("magic", CODEC_MAGIC), ("version", CODEC_VERSION)):
        if header[name] != wanted:
            raise CodecError(f"{name} must be {wanted}, not {header[name]}")
    if header["length"] != len(frame):
        raise CodecError(f"frame must have {header['length']} bytes, not {len(frame)}")
    if header["format"] not in CODED_FORMATS:
        known = ", ".join(f"{code.value} ({code.name})" for code in CODED_FORMATS)
        raise CodecError(f"format must be one of {known}, not {header['format']}")
    most = FORMATS[FormatCode(header["format"])].mantissa_bits
    if header["mantissa_bits"] > most:
        raise CodecError(f"mantissa_bits must be from 0 to {most}, not {header['mantissa_bits']}")
    return header


def _known(number: int, known: dict[int, CodeTable]) -> CodeTable:
    if number not in known:
        raise CodecError(f"table must be one of {', '.join(map(str, sorted(known)))}, not {number}")
    return known[number]


def _check_checksum(frame: bytes, tables: Sequence[CodeTable | None]) -> None:
    computed = checksum(memoryview(frame)[: -CHECKSUM.size], tables)
    (told,) = CHECKSUM.unpack(frame[-CHECKSUM.size :])
    if told != computed:
        raise CodecError(f"checksum must be {computed:#010x}, not {told:#010x}")


class _Regions(NamedTuple):
    counts: np.ndarray
    bases: np.ndarray
    widths: np.ndarray
    slots: np.ndarray
    first_blocks: np.ndarray


def _regions(
    rest: np.ndarray, number: int, fmt: ElementFormat, most: int
) -> tuple[_Regions, np.ndarray]:
    """The region headers, and what stands behind them."""
    wanted = REGION_SIZE * number
    if len(rest) < wanted:
        raise CodecError(f"region headers must have {wanted} bytes, not {len(rest)}")
    counts, bases = np.empty((2, number), dtype=np.int64)
    widths, slots = np.empty((2, number), dtype=np.uint8)
    largest = fmt.largest_exponent
    found, region, value = read_regions(rest[:wanted], largest, counts, bases, widths, slots)
    if found != FINE:
        name, limit = {
            EXPONENT: ("exponent", largest),
            WIDTH: ("width", WIDEST),
            RESERVED: ("reserved bits", 0),
        }[found]
        raise CodecError(f"{name} of region {region} must be at most {limit}, not {value}")
    total = int(counts.sum())
    if total > most:
        raise CodecError(f"elements of a frame must be at most {most}, not {total}")
    return _Regions(counts, bases, widths, slots, first_blocks_of(counts)), rest[wanted:]


def _sizes(
    rest: np.ndarray, regions: _Regions, tables: Sequence[CodeTable | None]
) -> tuple[np.ndarray, int, np.ndarray]:
    """Bytes of each block, and of all, and what stands behind their list."""
    first_blocks = regions.first_blocks
    bits = bits_of_sizes(regions.widths, first_blocks)
    wanted = (bits + 7) // 8
    if len(rest) < wanted:
        raise CodecError(f"block lengths must have {wanted} bytes, not {len(rest)}")
    if bits % 8 and (left := rest[wanted - 1] & (0xFF >> bits % 8)):
        raise CodecError(f"bits behind the block lengths must be 0, not {left}")
    sizes = np.empty(first_blocks[-1], dtype=np.int32)
    found, region, block, value, most = read_sizes(
        as_words(rest[:wanted]),
        regions.counts,
        regions.widths,
        regions.slots,
        first_blocks,
        np.array([table is not None for table in tables]),
        sizes,
    )
    where = f"block {block} of region {region}"
    if found == LENGTH:
        raise CodecError(f"length of {where} must be at most {most}, not {value}")
    if found == NO_TABLE:
        raise CodecError(f"slot {value} must have a table, as {where} is coded, not none")
    return sizes, value, rest[wanted:]
