"""Common part of all devices: the session, an echo, the registers."""

import enum

from amaranth.hdl import unsigned

from adagrain.models.interface.protocol import MAGIC, PROTOCOL_VERSION

from .operation import Operation, Payload
from .ranges import ByteRange
from .register import Register
from .unit import Unit

__all__ = ["LINE", "LINK", "SYSTEM", "SystemOpcode"]


class SystemOpcode(enum.IntEnum):
    """Operations of any device."""

    HELLO = 0x00
    REGISTERS = 0x01
    ECHO = 0x02


SYSTEM = Unit(
    name="system",
    group=0,
    about="identity, registers, echo",
    of_device=True,
    operations=(
        Operation(
            SystemOpcode.HELLO,
            Payload(),
            Payload(),
            "opens the session named in the header; its sequence number is 0",
        ),
        Operation(
            SystemOpcode.REGISTERS,
            Payload(ByteRange),
            Payload(items=unsigned(32), least=1),
            "reads words of registers; those that no unit has are 0",
        ),
        Operation(
            SystemOpcode.ECHO,
            Payload(items=unsigned(8)),
            Payload(items=unsigned(8)),
            "sends the same bytes back",
        ),
    ),
    registers=(
        Register("magic", 'the constant `"AGRN"`', constant=lambda c: MAGIC),
        Register("protocol", "version of this protocol", constant=lambda c: PROTOCOL_VERSION),
        Register(
            "build", "hash of the configuration that was built", constant=lambda c: c.build_id()
        ),
        Register(
            "preset",
            "device preset's name, eight ASCII characters, padded with NUL",
            bits=64,
            constant=lambda c: int.from_bytes(c.preset.encode(), "little"),
        ),
        Register(
            "units",
            "bit set of the units that were built, by their groups",
            constant=lambda c: sum(1 << unit.group for unit in c.built()),
        ),
        Register(
            "formats",
            "bit set of the element formats, in the order of `FormatCode`",
            constant=lambda c: sum(1 << code for code in c.formats),
        ),
        Register("payload", "longest payload in bytes", constant=lambda c: c.payload),
        Register("window", "commands in flight", constant=lambda c: c.window),
        Register("cycles", "clock cycles since reset", bits=64, clocked=True),
        Register("unit_resets", "units reset because they made no progress, modulo 2^16"),
    ),
)

#: Has registers alone.
LINK = Unit(
    name="link",
    group=14,
    about="frames, sessions, repeats",
    of_device=True,
    registers=(
        Register("frames", "frames accepted, modulo 2^16, as the next six"),
        Register("bad_crc", "frames with a wrong checksum"),
        Register("bad_frame", "frames that COBS or the header's length shows to be damaged"),
        Register("repeats", "repeated requests, answered from memory"),
        Register("out_of_order", "requests refused because an earlier one was missing"),
        Register("no_session", "requests of an unknown session"),
        Register("sessions", "sessions opened since reset"),
    ),
)

#: Has registers alone.
LINE = Unit(
    name="line",
    group=15,
    about="the serial line, where there is one",
    of_device=True,
    registers=(
        Register("framing_errors", "bytes without a stop bit, modulo 2^16"),
        Register("overruns", "bytes for which there was no room, modulo 2^16"),
        Register("breaks", "breaks since power-on, modulo 2^16"),
    ),
)
