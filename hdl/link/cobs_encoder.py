"""COBS-encodes packets and ends them with a delimiter."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from adagrain.hdl.checks import check_integer
from adagrain.hdl.stream.packet import Packet

from .packet_queue import PacketQueue

__all__ = ["CobsEncoder"]


class CobsEncoder(wiring.Component):
    """Encoder for Consistent Overhead Byte Stuffing (Cheshire and Baker, 1999).

    Writes the shortest encoding: a full block at the end of a packet is not followed by an
    empty one. Takes and gives one byte per cycle, but for one cycle for the code of a full
    block and two or three at a packet's end. A block leaves when its last byte has come,
    after at most ``block`` bytes; there is room for one that is filled and one that is read.

    Parameters
    ----------
    block : int
        Bytes of the longest block, its code not counted: 1 to 254. COBS has 254; with fewer,
        blocks fill up sooner, and only a decoder with as many understands them.

    Members
    -------
    i : ``In(stream.Signature(Packet))``
        Packets.
    o : ``Out(stream.Signature(8))``
        Blocks, and a zero byte behind each packet.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, block: int = 254) -> None:
        check_integer("block", block, 1, 254)
        self._block = block
        super().__init__({"i": In(stream.Signature(Packet)), "o": Out(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.blocks = blocks = PacketQueue(1 << ceil_log2(2 * (self._block + 1)))
        connect(m, blocks.o, flipped(self.o))

        filled = Signal(range(self._block + 1))  # bytes that the open block has
        last = Signal()  # the packet's bytes are all in

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
            with m.State("BYTES"), m.If(self.i.valid):
                m.d.comb += self.i.ready.eq(blocks.i.ready)
                m.d.sync += last.eq(self.i.p.last)
                with m.If(self.i.p.data == 0):
                    close_block()
                    with m.If(blocks.i.ready & self.i.p.last):
                        m.next = "BLOCK"
                with m.Else():
                    m.d.comb += [blocks.i.valid.eq(1), blocks.i.p.data.eq(self.i.p.data)]
                    with m.If(blocks.i.ready):
                        m.d.sync += filled.eq(filled + 1)
                        with m.If(self.i.p.last | (filled == self._block - 1)):
                            m.next = "BLOCK"

            with m.State("BLOCK"):
                close_block()
                with m.If(blocks.i.ready):
                    with m.If(last):
                        m.next = "DELIMITER"
                    with m.Else():
                        m.next = "BYTES"

            with m.State("DELIMITER"):  # a packet of its own: the head is a zero, no body
                m.d.comb += [blocks.i.valid.eq(1), blocks.i.p.end.eq(1)]
                with m.If(blocks.i.ready):
                    m.next = "BYTES"

        return m
