"""The link's protocol, declared once: frames, operations, status codes, registers.

The region table is addressed in 64-bit words: eight a region, in the order of ``RegionRecord``.

A frame is ``COBS(header ‖ payload ‖ CRC-32) ‖ 0x00``, everything little end first. Requests and
replies share :data:`Header`. The page ``docs/link.md`` tells the rules; its tables are made
from this file.
"""

import enum
from dataclasses import dataclass

from amaranth.hdl import unsigned
from amaranth.lib import data

__all__ = [
    "MAGIC",
    "PROTOCOL_VERSION",
    "REGISTERS",
    "Header",
    "Opcode",
    "Register",
    "Status",
    "Unit",
]

#: The first register of every device: ``"AGRN"``.
MAGIC = int.from_bytes(b"AGRN", "little")

#: Changes whenever a driver of the old protocol would be misunderstood.
PROTOCOL_VERSION = 4

#: Head of every frame. ``length`` counts the payload's bytes.
Header = data.StructLayout(
    {
        "session": unsigned(32),
        "sequence": unsigned(16),
        "opcode": unsigned(8),
        "status": unsigned(8),  # 0 in requests
        "length": unsigned(16),
    }
)


class Opcode(enum.IntEnum):
    """What a request asks for."""

    HELLO = 0x00  #: open the session named in the header; its sequence number is 0
    READ_REGISTERS = 0x01  #: ``first`` u8, ``count`` u8 → that many 32-bit registers
    ECHO = 0x02  #: any payload → the same payload
    STATISTICS_BEGIN = 0x10  #: ``StatisticsBegin`` → nothing; starts a pass
    STATISTICS_DATA = 0x11  #: whole groups of 16 octets of the tensor, zero-padded → nothing
    STATISTICS_END = 0x12  #: nothing → ``StatisticsRecord``, when all elements are in
    HISTOGRAM_READ = 0x13  #: ``first`` u8, ``count`` u8 → that many ``HistogramBin`` records
    REGIONS_WRITE = 0x20  #: ``first`` u16, words u64 … of the region table → nothing
    REGIONS_READ = 0x21  #: ``first`` u16, ``count`` u8 → that many words of the region table
    REGIONS_PARAMETERS = 0x22  #: ``RegionParameters`` → nothing
    REGIONS_STATE = 0x23  #: nothing → ``RegionParameters``
    REGIONS_STEP = 0x24  #: ``RegionStep``, ``RegionUpdate`` … → one ``Decision`` each
    TILE_WRITE = 0x30  #: ``first`` u16, words u32 … of the operand memories → nothing
    TILE_RUN = 0x31  #: ``TileRun`` → the tile's ``TileResult`` records, where its sums end
    TILE_SCALES = 0x32  #: exponent s8 of each slice, for runs that are ``scaled`` → nothing
    PRECISION_WRITE = 0x40  #: ``first`` u16, ``PrecisionRecord`` … → nothing
    PRECISION_READ = 0x41  #: ``first`` u16, ``count`` u8 → that many ``PrecisionRecord``
    PRECISION_STEP = 0x42  #: ``PrecisionUpdate`` … → one ``PrecisionDecision`` each


class Status(enum.IntEnum):
    """What became of a request."""

    OK = 0
    BAD_CRC = 1  #: the frame was damaged; ``sequence`` is the one that the device waits for
    NO_SESSION = 2  #: the device does not know this session: open a new one
    OUT_OF_ORDER = 3  #: an earlier request is missing; ``sequence`` is that one's number
    UNKNOWN_OPCODE = 4
    BAD_LENGTH = 5  #: the payload's length does not fit the operation or the header
    UNSUPPORTED = 6  #: this build has no such unit, format, power or precision
    BUSY = 7  #: a pass is under way
    OVERFLOW = 8  #: more elements than were announced, or a frame longer than the buffer
    INCOMPLETE = 9  #: the pass ended before all elements were in, or its data port starved
    BAD_VALUE = 10  #: an argument is out of its range
    NOT_STARTED = 11  #: no pass is under way
    NO_HISTOGRAM = 12  #: no pass with a histogram has ended since the last one began
    NO_SUM = 13  #: no sums of this precision and as many rows are under way to go on with
    NO_PARAMETERS = 14  #: the Region Manager has been given none since it was reset
    UNIT_RESET = 15  #: the unit made no progress and was reset: what it knew is to be written again


@dataclass(frozen=True)
class Register:
    """One 32-bit register that the host may read.

    Parameters
    ----------
    address : int
        Its number.
    description : str
        What it tells, with its unit.
    """

    address: int
    description: str


def _table(rows: dict[str, str]) -> dict[str, Register]:
    return {name: Register(address, text) for address, (name, text) in enumerate(rows.items())}


#: Every register, by name. The driver reads the first ten before anything else.
REGISTERS: dict[str, Register] = _table(
    {
        "magic": 'the constant `"AGRN"`',
        "protocol": "version of this protocol",
        "build": "hash of the configuration that was built",
        "preset_low": "preset's name, first four ASCII characters",
        "preset_high": "preset's name, the other four, padded with NUL",
        "units": "bit set of the units that were built, in the order of `Unit`",
        "formats": "bit set of the element formats, in the order of `FormatCode`",
        "lanes": "lanes in bits 0-7, highest power sum in bits 8-15, window in bits 16-23",
        "regions": "records in the region table",
        "payload": "longest payload in bytes",
        "frames": "frames accepted, modulo 2^16, as the next six",
        "bad_crc": "frames with a wrong checksum",
        "bad_frame": "frames that COBS or the header's length shows to be damaged",
        "repeats": "repeated requests, answered from memory",
        "out_of_order": "requests refused because an earlier one was missing",
        "no_session": "requests of an unknown session",
        "sessions": "sessions opened since reset",
        "cycles_low": "clock cycles since reset, low half",
        "cycles_high": "clock cycles since reset, high half",
        "elements_low": "elements that went through `statistics`, low half",
        "elements_high": "elements that went through `statistics`, high half",
        "decisions": "records decided by `region_manager`",
        "decision_cycles": "most cycles that one decision took since reset",
        "framing_errors": "octets without a stop bit on the serial line, modulo 2^16",
        "overruns": "octets of the serial line for which there was no room, modulo 2^16",
        "breaks": "breaks on the serial line since power-on, modulo 2^16",
        "slices": "slices in bits 0-7, words of each operand memory in bits 8-31",
        "tile_words": "pairs of words of all accepted runs, each slice's, modulo 2^32",
        "unit_resets": "units reset because they made no progress, modulo 2^16",
    }
)


class Unit(enum.IntEnum):
    """Units of a build; each is a bit of the register ``units``."""

    STATISTICS = 0
    HISTOGRAM = 1
    REGION_MANAGER = 2
