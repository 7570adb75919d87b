"""COBS-encodes packets and ends them with a delimiter."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.stream.packet import Packet

from .packet_queue import PacketQueue

__all__ = ["CobsEncoder"]

#: Octets of the longest block, one octet for its code not counted.
LONGEST_BLOCK = 254
#: Room for a block that is filled and one that is read.
BUFFER = 512


class CobsEncoder(wiring.Component):
    """Encoder for Consistent Overhead Byte Stuffing (Cheshire and Baker, 1999).

    Writes the shortest encoding: a full block at the end of a packet is not followed by an
    empty one. Takes and gives one octet per cycle, but for one cycle for the code of a full
    block and two or three at a packet's end. A block leaves when its last octet has come,
    after at most 254 octets.

    Members
    -------
    i : ``In(stream.Signature(Packet))``
        Packets.
    o : ``Out(stream.Signature(8))``
        Blocks, and a zero octet behind each packet.
    """

    def __init__(self) -> None:
        super().__init__({"i": In(stream.Signature(Packet)), "o": Out(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.blocks = blocks = PacketQueue(BUFFER)
        connect(m, blocks.o, flipped(self.o))

        filled = Signal(range(LONGEST_BLOCK + 1))  # octets that the open block has
        last = Signal()  # the packet's octets are all in

        def close_block() -> None:
            m.d.comb += [
                blocks.i.valid.eq(1),
                blocks.i.p.end.eq(1),
                blocks.i.p.data.eq(filled + 1),
                blocks.i.p.keep.eq(filled),
            ]
            with m.If(blocks.i.ready):
                m.d.sync += filled.eq(0)

        with m.FSM():
            with m.State("octets"), m.If(self.i.valid):
                m.d.comb += self.i.ready.eq(blocks.i.ready)
                m.d.sync += last.eq(self.i.p.last)
                with m.If(self.i.p.data == 0):
                    close_block()
                    with m.If(blocks.i.ready & self.i.p.last):
                        m.next = "block"
                with m.Else():
                    m.d.comb += [blocks.i.valid.eq(1), blocks.i.p.data.eq(self.i.p.data)]
                    with m.If(blocks.i.ready):
                        m.d.sync += filled.eq(filled + 1)
                        with m.If(self.i.p.last | (filled == LONGEST_BLOCK - 1)):
                            m.next = "block"

            with m.State("block"):
                close_block()
                with m.If(blocks.i.ready):
                    with m.If(last):
                        m.next = "delimiter"
                    with m.Else():
                        m.next = "octets"

            with m.State("delimiter"):  # a packet of its own: the head is a zero, no body
                m.d.comb += [blocks.i.valid.eq(1), blocks.i.p.end.eq(1)]
                with m.If(blocks.i.ready):
                    m.next = "octets"

        return m
