"""Packers: narrower beats and bytes, and back, without loss."""

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.stream.records import Deserializer, Serializer
from adagrain.hdl.tensor_input import Unpacker
from adagrain.hdl.tensor_input.downsizer import Downsizer
from adagrain.models.interface.formats import FormatCode

from .harness import (
    Proof,
    always_steady,
    assume_stable,
    counted,
    demand_order,
    demand_patience,
    demand_stable,
    transfers,
)

__all__ = ["DownsizerProof", "SerialProof", "UnpackerProof"]


class DownsizerProof(Proof):
    """Each word of a beat leaves once, the first one first; the beat is held until its end."""

    DEPTH = 12
    MUTANT = ("hdl/tensor_input/downsizer.py", "self.o.ready & last", "self.o.ready & (part != 0)")

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(data.ArrayLayout(unsigned(32), 4))),
                "o": Out(stream.Signature(data.ArrayLayout(unsigned(32), 1))),
            }
        )

    def build(self, m: Module) -> None:
        m.submodules.downsizer = downsizer = Downsizer(4, 1)
        connect(m, flipped(self.i), downsizer.i)
        connect(m, downsizer.o, flipped(self.o))
        assume_stable(m, self.i)
        demand_stable(m, self.o)
        demand_patience(m, self.i.valid, self.o.valid, cycles=0)
        number, beat = counted(m, transfers(self.o)), counted(m, transfers(self.i))
        words = self.i.payload.as_value()
        with m.If(transfers(self.o)):
            m.d.comb += [
                Assert(beat == number >> 2),
                Assert(self.o.payload.as_value() == words.word_select(number[:2], 32)),
            ]
        m.d.comb += Cover(beat == 2)


class SerialProof(Proof):
    """Bytes that were gathered to records and sent again are the same bytes."""

    DEPTH = 12
    MUTANT = ("hdl/stream/records.py", "self.o.ready & ends", "self.o.ready")

    def __init__(self) -> None:
        super().__init__({"i": In(stream.Signature(8)), "o": Out(stream.Signature(8))})

    def build(self, m: Module) -> None:
        m.submodules.gather = gather = Deserializer(3)
        m.submodules.send = send = Serializer(3)
        connect(m, flipped(self.i), gather.i)
        connect(m, gather.o, send.i)
        m.d.comb += [
            gather.size.eq(3),
            self.o.payload.eq(send.o.payload.data),
            self.o.valid.eq(send.o.valid),
            send.o.ready.eq(self.o.ready),
        ]
        demand_order(
            m, self.watch, transfers(self.i), self.i.payload, transfers(self.o), self.o.payload
        )
        demand_stable(m, self.o)
        held = (counted(m, transfers(self.i)) - counted(m, transfers(self.o)))[:5]
        demand_patience(m, held == 3, self.o.valid, cycles=0)
        demand_patience(m, held == 0, self.i.ready, cycles=0)


class UnpackerProof(Proof):
    """Of a BF16 tensor each element leaves once, in order, widened; the rest of a word nowhere."""

    DEPTH = 12
    MUTANT = (
        "hdl/tensor_input/unpacker.py",
        "half = Mux(second, words",
        "half = Mux(~second, words",
    )

    def __init__(self) -> None:
        super().__init__(
            {
                "count": In(3),
                "halves": In(1),
                "i": In(stream.Signature(data.ArrayLayout(unsigned(32), 1))),
                "o": Out(stream.Signature(32)),
            }
        )

    def build(self, m: Module) -> None:
        m.submodules.unpacker = unpacker = Unpacker(1, (FormatCode.FP32, FormatCode.BF16))
        always_steady(m, self.count)
        always_steady(m, self.halves)
        assume_stable(m, self.i)
        connect(m, flipped(self.i), unpacker.i)
        begun = counted(m, transfers(unpacker.i_begin))
        m.d.comb += [
            Assume(self.count != 0),
            unpacker.i_begin.valid.eq(begun == 0),
            unpacker.i_begin.payload.count.eq(self.count),
            unpacker.i_begin.payload.format.eq(Mux(self.halves, FormatCode.BF16, FormatCode.FP32)),
            self.o.payload.eq(unpacker.o.payload.data.as_value()),
            self.o.valid.eq(unpacker.o.valid),
            unpacker.o.ready.eq(self.o.ready),
        ]
        demand_stable(m, self.o)
        number = counted(m, transfers(self.o))
        words = counted(m, transfers(self.i))
        word = self.i.payload.as_value()
        half = Mux(number[0], word[16:], word[:16]) << 16
        with m.If(transfers(self.o)):
            m.d.comb += [
                Assert(number < self.count),
                Assert(self.o.payload == Mux(self.halves, half, word)),
                Assert(words == Mux(self.halves, number >> 1, number)),
                Assert(unpacker.o.payload.last == (number == self.count - 1)),
            ]
        m.d.comb += [Cover(number == 5), Cover(self.halves & (number == 5))]
