"""Packers: narrower beats and bytes, and back, without loss."""

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, unsigned
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

#: A tensor of the unpacker: its elements, and whether they are BF16 rather than FP32.
_Kind = data.StructLayout({"count": unsigned(3), "halves": unsigned(1)})


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
    """Of a BF16 tensor each element leaves once, in order, widened; the rest of a word nowhere.

    Tensors of any two kinds take turns, and begin at any time. What can go on does so at once.
    """

    DEPTH = 12
    MUTANT = (
        "hdl/tensor_input/unpacker.py",
        "half = Mux(second, words",
        "half = Mux(~second, words",
    )

    def __init__(self) -> None:
        super().__init__(
            {
                "kinds": In(data.ArrayLayout(_Kind, 2)),
                "begin": In(1),
                "i": In(stream.Signature(data.ArrayLayout(unsigned(32), 1))),
                "o": Out(stream.Signature(32)),
            }
        )

    def build(self, m: Module) -> None:
        m.submodules.unpacker = unpacker = Unpacker(1, (FormatCode.FP32, FormatCode.BF16))
        always_steady(m, self.kinds)
        assume_stable(m, self.i)
        connect(m, flipped(self.i), unpacker.i)
        for kind in self.kinds:
            m.d.comb += Assume(kind.count != 0)
        begins, tensors = transfers(unpacker.i_begin), Signal(5)
        given, own = self.kinds[tensors[0]], self.kinds[~tensors[0]]
        m.d.comb += [
            unpacker.i_begin.valid.eq(self.begin),
            unpacker.i_begin.payload.count.eq(given.count),
            unpacker.i_begin.payload.format.eq(Mux(given.halves, FormatCode.BF16, FormatCode.FP32)),
            self.o.payload.eq(unpacker.o.payload.data.as_value()),
            self.o.valid.eq(unpacker.o.valid),
            unpacker.o.ready.eq(self.o.ready),
        ]
        demand_stable(m, self.o)
        number, words = Signal(5), Signal(5)
        m.d.sync += [
            tensors.eq(tensors + begins),
            number.eq(Mux(begins, 0, number + transfers(self.o))),
            words.eq(Mux(begins, 0, words + transfers(self.i))),
        ]
        word = self.i.payload.as_value()
        half = Mux(number[0], word[16:], word[:16]) << 16
        with m.If(transfers(self.o)):
            m.d.comb += [
                Assert((tensors != 0) & (number < own.count)),
                Assert(self.o.payload == Mux(own.halves, half, word)),
                Assert(words == Mux(own.halves, number >> 1, number)),
                Assert(unpacker.o.payload.last == (number == own.count - 1)),
            ]
        with m.If(begins & (tensors != 0)):
            m.d.comb += [
                Assert(number == own.count),
                Assert(words == Mux(own.halves, (own.count + 1) >> 1, own.count)),
            ]
        has_left = (tensors != 0) & (number < own.count)
        demand_patience(m, has_left & self.i.valid, self.o.valid, cycles=0)
        demand_patience(m, ~has_left & self.begin, begins, cycles=0)
        m.d.comb += [
            Cover(number == 5),
            Cover(own.halves & (number == 5)),
            Cover((tensors == 3) & (number == 1) & self.kinds[0].halves & self.kinds[1].halves),
        ]
