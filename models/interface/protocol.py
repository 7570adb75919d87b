"""The link's protocol, declared once: frames and status codes.

A frame is ``COBS(header ‖ payload ‖ CRC-32) ‖ 0x00``, everything little end first. Requests and
replies share :data:`Header`. What units can be asked for, and what registers they have, is in
:mod:`adagrain.models.interface.units`. The page ``docs/link.md`` tells the rules.
"""

import enum

from amaranth.hdl import unsigned
from amaranth.lib import data

__all__ = ["MAGIC", "PROTOCOL_VERSION", "Header", "Status"]

#: The first register of every device: ``"AGRN"``.
MAGIC = int.from_bytes(b"AGRN", "little")

#: Changes whenever a driver of the old protocol would be misunderstood.
PROTOCOL_VERSION = 6

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


class Status(enum.IntEnum):
    """Result of a request."""

    OK = 0
    BAD_CRC = 1  #: the frame was damaged; ``sequence`` is the one that the device waits for
    NO_SESSION = 2  #: the device does not know this session: open a new one
    OUT_OF_ORDER = 3  #: an earlier request is missing; ``sequence`` is that one's number
    UNKNOWN_OPCODE = 4
    BAD_LENGTH = 5  #: the payload's length does not fit the operation or the header
    UNSUPPORTED = 6  #: this build has no such unit, format, histogram or precision
    BUSY = 7  #: a pass is under way
    OVERFLOW = 8  #: more elements than were announced, or a frame longer than the buffer
    INCOMPLETE = 9  #: the pass ended before all elements were in, or its data port starved
    BAD_VALUE = 10  #: an argument is out of its range
    NOT_STARTED = 11  #: no pass is under way
    NO_HISTOGRAM = 12  #: no pass with a histogram has ended since the last one began
    NO_SUM = 13  #: no sums of this precision and as many rows are under way to go on with
    NO_PARAMETERS = 14  #: the Region Manager has been given none since it was reset
    UNIT_RESET = 15  #: the unit made no progress and was reset: what it knew is to be written again
    NO_TABLE = 16  #: the slot has been given no table since the unit was reset
