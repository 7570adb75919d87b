"""Finds frames in a stream of bytes, and undoes their COBS encoding."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_integer

__all__ = ["CobsDecoder", "DecodedByte"]

#: A byte of a frame, or, where ``end`` is set, the frame's end. ``damaged`` belongs to the
#: end: its delimiter stood where a block still had bytes to come.
DecodedByte = data.StructLayout({"data": unsigned(8), "end": unsigned(1), "damaged": unsigned(1)})

DELIMITER = 0


class CobsDecoder(wiring.Component):
    """Decoder of Consistent Overhead Byte Stuffing (Cheshire and Baker, 1999).

    Takes one byte per cycle and never waits for anything but its output. An element leaves
    one cycle after the byte that completes it. After garbage it is in step again with the
    next delimiter. Delimiters without anything between them are ignored.

    It does not look into frames: their length and checksum are the business of
    :class:`~adagrain.hdl.link.frame_checker.FrameChecker`.

    Parameters
    ----------
    block : int
        Bytes of the longest block, its code not counted, behind which no zero is left out: 1 to
        254. COBS has 254; other blocks are understood that an encoder with as many has written.

    Members
    -------
    i : ``In(stream.Signature(8))``
        Blocks, and a zero byte at the end of each frame.
    o : ``Out(stream.Signature(DecodedByte))``
        The frames' bytes, and their ends.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, block: int = 254) -> None:
        check_integer("block", block, 1, 254)
        self._block = block
        super().__init__({"i": In(stream.Signature(8)), "o": Out(stream.Signature(DecodedByte))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        byte = self.i.payload

        started = Signal()
        remaining = Signal(8)  # bytes that the block still has
        zero_owed = Signal()  # a zero stands between this block and the next one, if any

        with m.If(~self.o.valid | self.o.ready):
            m.d.comb += self.i.ready.eq(1)
            m.d.sync += self.o.valid.eq(0)
            with m.If(self.i.valid):
                m.d.sync += [
                    self.o.p.data.eq(Mux(remaining == 0, 0, byte)),
                    self.o.p.end.eq(byte == DELIMITER),
                    self.o.p.damaged.eq((byte == DELIMITER) & (remaining != 0)),
                ]
                with m.If(byte == DELIMITER):
                    m.d.sync += [
                        self.o.valid.eq(started),
                        started.eq(0),
                        remaining.eq(0),
                        zero_owed.eq(0),
                    ]
                with m.Elif(remaining == 0):  # a block's code
                    m.d.sync += [
                        self.o.valid.eq(zero_owed),
                        started.eq(1),
                        remaining.eq(byte - 1),
                        zero_owed.eq(byte != self._block + 1),
                    ]
                with m.Else():
                    m.d.sync += [self.o.valid.eq(1), remaining.eq(remaining - 1)]

        return m
