"""Takes frames apart, and checks all of them but the insides of their blocks."""

from collections.abc import Mapping, Sequence

import numpy as np

from adagrain.models.arguments import whole
from adagrain.models.interface.codec import (
    CODEC_MAGIC,
    CODEC_VERSION,
    CODED_FORMATS,
    GradientHeader,
    TableNumber,
)
from adagrain.models.interface.formats import FORMATS
from adagrain.models.interface.records import unpack

from .defaults import DEFAULT_TABLES
from .errors import CodecError
from .parser_kernel import Outcome, read_body
from .parts import CHECKSUM, HEADER_SIZE, Parts, checksum, lengths_of
from .table import CodeTable, agreed

__all__ = ["dissect", "region_bytes"]

_FORMATS = {int(code): FORMATS[code] for code in CODED_FORMATS}

#: Elements that a receiver may take at most: more than any frame can have.
_MOST = (1 << 63) - 1

#: Elements that a region's header can tell at most.
_MOST_OF_REGION = (1 << 32) - 1

_WRONG = {
    Outcome.HEADERS: "region headers must have {limit} bytes, not {value}",
    Outcome.EXPONENT: "exponent of region {region} must be at most {limit}, not {value}",
    Outcome.WIDTH: "width of region {region} must be at most {limit}, not {value}",
    Outcome.RESERVED: "reserved bits of region {region} must be {limit}, not {value}",
    Outcome.ELEMENTS: "elements of a frame must be at most {limit}, not {value}",
    Outcome.COUNT: "elements of region {region} must be {limit}, not {value}",
    Outcome.TABLE: "carried table must have at least {limit} bytes, not {value}",
    Outcome.CLASSES: "classes of a table must be from 1 to {limit}, not {value}",
    Outcome.BINS: "bins of a table must be from 1 to {limit}, not {value}",
    Outcome.HALF_BYTE: "half byte behind a table must be {limit}, not {value}",
    Outcome.CODE_LENGTH: "code lengths must be from 0 to {limit}, not {value}",
    Outcome.CODE_SPACE: "codes must fill the code space, {limit} of 12 bits, not {value}",
    Outcome.SIZES: "block lengths must have {limit} bytes, not {value}",
    Outcome.SPARE_BITS: "bits behind the block lengths must be {limit}, not {value}",
    Outcome.SIZE: "length of block {block} of region {region} must be at most {limit}, not {value}",
    Outcome.NO_TABLE: (
        "slot {value} must have a table, as block {block} of region {region} is coded, not none"
    ),
}


def dissect(
    frame: bytes,
    tables: Sequence[CodeTable],
    most: int,
    counts: Sequence[int] | None = None,
) -> Parts:
    """Take a frame apart, and check all of it but the insides of its blocks.

    Parameters
    ----------
    frame : bytes
        The frame, and nothing else.
    tables : sequence of CodeTable
        Tables that it may name, besides the defaults.
    most : int
        Elements that it may have in all.
    counts : sequence of int or None
        Elements that each region must have; ``None``: any.

    Raises
    ------
    TypeError, ValueError
        If the frame is no bytes, or another argument is not as it must be.
    CodecError
        If something in the frame is not; the value is named, and what it must be.
    """
    if not isinstance(frame, bytes | bytearray | memoryview):
        raise TypeError(f"frame must be bytes, not of type {type(frame).__name__}")
    if isinstance(frame, memoryview):
        frame = frame.tobytes()  # its items may be of some bytes each, or have others in between
    others, most, wanted = agreed(tables), whole("most", most, _MOST), _wanted(counts)
    header = _header(frame)
    fmt = _FORMATS[header["format"]]
    numbers = header["table_0"], header["table_1"]
    lengths = lengths_of([_named(number, others) for number in numbers])
    _check_checksum(frame, numbers, lengths)
    if counts is not None and len(wanted) != header["regions"]:
        raise CodecError(f"regions must be {len(wanted)}, not {header['regions']}")
    rest = np.frombuffer(frame, dtype=np.uint8)[HEADER_SIZE : -CHECKSUM.size]
    wrong, used, found, bases, slots, first_blocks, sizes, elements, total = read_body(
        rest, header["regions"], fmt.largest_exponent, most, wanted, numbers, lengths
    )
    outcome, region, block, value, limit = wrong
    if outcome != Outcome.FINE:
        message = _WRONG[outcome]
        raise CodecError(message.format(region=region, block=block, value=value, limit=limit))
    blocks = rest[used:]
    if total != len(blocks):
        raise CodecError(f"blocks must have {total} bytes in all, not {len(blocks)}")
    return Parts(
        fmt,
        header["mantissa_bits"],
        numbers,
        lengths,
        found,
        bases,
        first_blocks,
        slots,
        sizes,
        blocks,
        elements,
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


def _wanted(counts: Sequence[int] | None) -> np.ndarray:
    """Counts of elements that regions must have; none where they may have any."""
    own = [] if counts is None else [*counts]
    # for many regions, each by itself takes ten times as long as all at once
    if {*map(type, own)} != {int} or min(own) < 0 or max(own) > _MOST_OF_REGION:
        own = [whole("counts", count, _MOST_OF_REGION) for count in own]
    return np.array(own, dtype=np.int64)


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
    if header["format"] not in _FORMATS:
        known = ", ".join(f"{code.value} ({code.name})" for code in CODED_FORMATS)
        raise CodecError(f"format must be one of {known}, not {header['format']}")
    most = _FORMATS[header["format"]].mantissa_bits
    if header["mantissa_bits"] > most:
        raise CodecError(f"mantissa_bits must be from 0 to {most}, not {header['mantissa_bits']}")
    return header


def _named(number: int, others: Mapping[int, CodeTable]) -> CodeTable | None:
    """The table of a number; ``None`` where the frame carries it, or has none."""
    if number <= TableNumber.CARRIED:
        return None
    if number in DEFAULT_TABLES:
        return DEFAULT_TABLES[TableNumber(number)]
    if number in others:
        return others[number]
    known = sorted({*DEFAULT_TABLES, *others})
    raise CodecError(f"table must be one of {', '.join(map(str, known))}, not {number}")


def _check_checksum(frame: bytes, numbers: Sequence[int], lengths: np.ndarray) -> None:
    computed = checksum(memoryview(frame)[: -CHECKSUM.size], numbers, lengths)
    (told,) = CHECKSUM.unpack(frame[-CHECKSUM.size :])
    if told != computed:
        raise CodecError(f"checksum must be {computed:#010x}, not {told:#010x}")
