"""Decides which received frames are intact."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.crc.catalog import CRC32_ISO_HDLC
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_integer, check_power_of_two
from adagrain.models.interface.protocol import Header
from adagrain.models.link import CHECKSUM_SIZE, HEADER_SIZE, FrameCheck

from .cobs_decoder import DecodedByte
from .packet_queue import queued_byte_layout

__all__ = ["FrameChecker"]

LENGTH_OFFSET = Header["length"].offset // 8


class FrameChecker(wiring.Component):
    """Turns decoded frames into records that are safe to act on.

    Each frame becomes one packet for a :class:`~adagrain.hdl.link.packet_queue.PacketQueue`:
    a :class:`~adagrain.models.link.FrameCheck`; then the header, if the checksum is right; then
    the payload, if the frame is intact. Takes one byte per cycle, adds no latency, and waits
    only for the queue. Frames may be of any length: what exceeds a header and the longest
    payload is not passed on.

    Parameters
    ----------
    payload : int
        Longest payload in bytes, 1 to 65535.
    depth : int
        Depth of the queue behind; at least a header, ``payload`` and two bytes more.

    Members
    -------
    i : ``In(stream.Signature(DecodedByte))``
        Frames.
    o : ``Out(stream.Signature(queued_byte_layout(depth)))``
        Records: check as the head, header and payload as the body.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, *, payload: int, depth: int) -> None:
        check_integer("payload", payload, 1, (1 << Header["length"].width) - 1)
        self._longest = HEADER_SIZE + payload + CHECKSUM_SIZE
        self._longest_body = HEADER_SIZE + payload
        check_power_of_two("depth", depth, self._longest_body + 2)
        super().__init__(
            {
                "i": In(stream.Signature(DecodedByte)),
                "o": Out(stream.Signature(queued_byte_layout(depth))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.crc = crc = CRC32_ISO_HDLC(data_width=8).create()

        count = Signal(range(self._longest + 2))  # in this frame so far; saturates
        too_long = count == self._longest + 1
        length = Signal(16)  # of the payload, as the header names it

        check = Signal(FrameCheck)
        keep = Signal.like(self.o.p.keep)
        with m.If(self.i.p.damaged | (count < HEADER_SIZE + CHECKSUM_SIZE)):
            m.d.comb += check.eq(FrameCheck.DAMAGED)
        with m.Elif(~crc.match_detected):
            m.d.comb += check.eq(FrameCheck.WRONG_CHECKSUM)
        with m.Elif(too_long):
            m.d.comb += [check.eq(FrameCheck.TOO_LONG), keep.eq(HEADER_SIZE)]
        with m.Elif(count != HEADER_SIZE + length + CHECKSUM_SIZE):
            m.d.comb += [check.eq(FrameCheck.WRONG_LENGTH), keep.eq(HEADER_SIZE)]
        with m.Else():
            m.d.comb += [check.eq(FrameCheck.INTACT), keep.eq(HEADER_SIZE + length)]

        fits = count < self._longest_body
        m.d.comb += [
            self.o.valid.eq(self.i.valid & (self.i.p.end | fits)),
            self.o.p.data.eq(Mux(self.i.p.end, check, self.i.p.data)),
            self.o.p.end.eq(self.i.p.end),
            self.o.p.keep.eq(keep),
            self.i.ready.eq(~self.o.valid | self.o.ready),
            crc.start.eq(self.i.valid & self.i.ready & self.i.p.end),
            crc.valid.eq(self.i.valid & self.i.ready & ~self.i.p.end),
            crc.data.eq(self.i.p.data),
        ]
        with m.If(self.i.valid & self.i.ready):
            with m.If(self.i.p.end):
                m.d.sync += count.eq(0)
            with m.Elif(~too_long):
                m.d.sync += count.eq(count + 1)
            for byte in range(2):
                with m.If(count == LENGTH_OFFSET + byte):
                    m.d.sync += length.word_select(byte, 8).eq(self.i.p.data)

        return m
