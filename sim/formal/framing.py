"""Framing: what is encoded, decoded, and queued is what was sent, frame by frame."""

from amaranth.hdl import Assert, Assume, Cover, Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.link.cobs_decoder import CobsDecoder, DecodedByte
from adagrain.hdl.link.cobs_encoder import CobsEncoder
from adagrain.hdl.link.packet_queue import PacketQueue, queued_byte_layout
from adagrain.hdl.stream.packet import Packet

from .harness import Proof, counted, demand_patience, demand_stable, transfers

__all__ = ["CobsProof", "PacketQueueProof"]

#: Bytes of a full block in the proof, so that blocks fill up within its bound.
_BLOCK = 2


class CobsProof(Proof):
    """Packets come out of encoder and decoder as they went in; nothing is taken for damage.

    The decoder waits for nothing but its output, and what has come goes on while that is taken.
    """

    DEPTH = 12
    MUTANT = (
        "hdl/link/cobs_decoder.py",
        "zero_owed.eq(byte != self._block + 1)",
        "zero_owed.eq(1)",
    )

    def __init__(self) -> None:
        super().__init__(
            {"i": In(stream.Signature(Packet)), "o": Out(stream.Signature(DecodedByte))}
        )

    def build(self, m: Module) -> None:
        m.submodules.encoder = encoder = CobsEncoder(_BLOCK)
        m.submodules.decoder = decoder = CobsDecoder(_BLOCK)
        connect(m, flipped(self.i), encoder.i)
        connect(m, encoder.o, decoder.i)
        connect(m, decoder.o, flipped(self.o))
        demand_stable(m, self.o)

        came, element = counted(m, transfers(self.i)), self.o.payload
        data, ended = Signal(8), Signal()
        seen = Signal()
        with m.If(transfers(self.i) & (came == self.watch)):
            m.d.sync += [data.eq(self.i.payload.data), ended.eq(self.i.payload.last), seen.eq(1)]
        left = counted(m, transfers(self.o) & ~element.end)
        owes_end = Signal()  # the watched byte was its packet's last one, and has left
        with m.If(transfers(self.o)):
            m.d.comb += Assert(element.end | ~owes_end)
            m.d.sync += owes_end.eq(0)
            with m.If(element.end):
                m.d.comb += Assert(~element.damaged)
                with m.If(left == self.watch + 1):
                    m.d.comb += Assert(ended & owes_end)
            with m.Elif(left == self.watch):
                m.d.comb += [Assert(seen), Assert(element.data == data)]
                m.d.sync += owes_end.eq(ended)

        demand_patience(m, encoder.o.valid & self.o.ready, encoder.o.ready, cycles=0)
        demand_patience(m, self.i.valid & self.o.ready, self.i.ready, cycles=3)
        packets = counted(m, transfers(self.i) & self.i.payload.last)
        ends = counted(m, transfers(self.o) & element.end)
        demand_patience(m, (packets != ends) & self.o.ready, self.o.valid, cycles=5)
        m.d.comb += [
            Cover(transfers(self.o) & element.end & (left == 3)),
            Cover(transfers(self.o) & (left == 2) & (element.data == 0)),
        ]


class PacketQueueProof(Proof):
    """Heads and kept bytes leave in order; what was dropped, and what has no end yet, never."""

    DEPTH = 10
    ROOM = 4
    MUTANT = (
        "hdl/link/packet_queue.py",
        "head.eq(next_head), tail.eq(next_head + 1)",
        "head.eq(next_head), tail.eq(tail + 1)",
    )

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(queued_byte_layout(self.ROOM))),
                "o": Out(stream.Signature(8)),
            }
        )

    def build(self, m: Module) -> None:
        m.submodules.queue = queue = PacketQueue(self.ROOM)
        connect(m, flipped(self.i), queue.i)
        connect(m, queue.o, flipped(self.o))
        demand_stable(m, self.o)

        # Where in the order of what leaves a byte is, if its packet keeps it: the open packet
        # begins behind the complete ones.
        complete, body = Signal(5), Signal(4)
        watched = Signal(8)
        byte = self.i.payload
        m.d.comb += [
            Assume(~byte.end | (byte.keep <= body)),
            Assume(byte.end | (body < self.ROOM - 2)),
        ]
        with m.If(transfers(self.i)):
            with m.If(byte.end):
                m.d.sync += [complete.eq(complete + 1 + byte.keep), body.eq(0)]
                with m.If(complete == self.watch):
                    m.d.sync += watched.eq(byte.data)
            with m.Else():
                m.d.sync += body.eq(body + 1)
                with m.If((complete + 1 + body)[:5] == self.watch):
                    m.d.sync += watched.eq(byte.data)
        left = counted(m, transfers(self.o))
        with m.If(self.o.valid):
            m.d.comb += Assert(left < complete)
            with m.If(left == self.watch):
                m.d.comb += Assert(self.o.payload == watched)
        demand_patience(m, left != complete, self.o.valid, cycles=2)
        m.d.comb += [Cover(left == 4), Cover(transfers(self.i) & byte.end & (byte.keep < body))]
