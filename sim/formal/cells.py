"""Cells of FPGAs, as they are modelled, against what they are for."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from amaranth.hdl import (
    Assert,
    Assume,
    Cat,
    ClockSignal,
    Const,
    Cover,
    Elaboratable,
    Fragment,
    Instance,
    Module,
    Signal,
    Value,
    signed,
    unsigned,
)
from amaranth.lib import data
from amaranth.lib.wiring import In
from amaranth.utils import exact_log2

from adagrain.hdl.arithmetic.dsp import Products, Target

from .harness import Proof, always_steady

__all__ = ["BlockRamProof", "Ecp5ProductsProof", "Ice40ProductsProof", "MultiplierProof"]


def _bus(name: str, value: Value) -> dict[str, Value]:
    """Pins of a cell, which has one for each bit."""
    return {f"{name}{number}": bit for number, bit in enumerate(value)}


class MultiplierProof(Proof):
    """The product of any two operands of 18 bits, each signed or not."""

    DEPTH = 2
    CELLS = "ecp5"
    MUTANT = ("sim/cells/ecp5/MULT18X18D.v", "SIGNEDB & used_b[17]", "SIGNEDA & used_b[17]")

    def __init__(self) -> None:
        super().__init__({"a": In(18), "b": In(18)})

    def build(self, m: Module) -> None:
        for signed_a in (False, True):
            for signed_b in (False, True):
                product, sign = Signal(36, name="product"), Signal(name="sign")
                m.submodules += Instance(
                    "MULT18X18D",
                    **_bus("i_A", self.a),
                    **_bus("i_B", self.b),
                    i_SIGNEDA=Const(signed_a),
                    i_SIGNEDB=Const(signed_b),
                    **_bus("o_P", product),
                    o_SIGNEDP=sign,
                )
                a = self.a.as_signed() if signed_a else self.a
                b = self.b.as_signed() if signed_b else self.b
                m.d.comb += [
                    Assert(product == (a * b)[:36]),
                    Assert(sign == (signed_a or signed_b)),
                    Cover(product == 6),
                ]


class _ProductsProof(Proof):
    """:class:`Products` of a family's multipliers equals the one that synthesis may choose.

    Whatever the operands, and whenever the registers move, once both registers were loaded.
    """

    DEPTH = 4
    WIDTH: ClassVar[int]

    def __init__(self) -> None:
        lanes = data.ArrayLayout(signed(self.WIDTH), 2)
        super().__init__({"en": In(1), "a": In(lanes), "b": In(lanes)})

    def build(self, m: Module) -> None:
        units = [Products(self.WIDTH, lanes=2) for _ in range(2)]
        m.submodules += [units[0], _Elaborated(units[1], Target(str(self.CELLS)))]
        for unit in units:
            m.d.comb += [unit.en.eq(self.en), unit.a.eq(self.a), unit.b.eq(self.b)]
        m.d.comb += Cover((units[0].o[0] == 6) & (units[0].o[1] == -6))
        loaded = Signal(2)
        with m.If(self.en):
            m.d.sync += loaded.eq(Cat(1, loaded[0]))
        with m.If(loaded.all()):
            m.d.comb += [Assert(units[0].o[lane] == units[1].o[lane]) for lane in range(2)]


class _Elaborated(Elaboratable):
    """A component as it is for another platform."""

    def __init__(self, component: Elaboratable, platform: object) -> None:
        self._component, self._platform = component, platform

    def elaborate(self, platform: object) -> Fragment:
        return Fragment.get(self._component, self._platform)


class Ecp5ProductsProof(_ProductsProof):
    CELLS = "ecp5"
    WIDTH = 18
    MUTANT = ("hdl/arithmetic/dsp/ecp5.py", '"INPUTB", "PIPELINE"', '"PIPELINE"')


class Ice40ProductsProof(_ProductsProof):
    CELLS = "ice40"
    WIDTH = 8
    MUTANT = ("hdl/arithmetic/dsp/ice40.py", '"A_SIGNED", "B_SIGNED"', '"A_SIGNED"')


#: What a port of a block RAM is given.
Pins = data.StructLayout(
    {
        "data": unsigned(18),
        "address": unsigned(14),
        "enable": unsigned(1),
        "write": unsigned(1),
        "reset": unsigned(1),
    }
)


@dataclass(frozen=True)
class _Port:
    """A port of a block RAM, as the watched bit sees it."""

    hit: Value  # the address is that of the bit
    place: Value  # where the bit then stands in the port's data
    writes: Value  # the bit is written
    given: Value
    reads: Value  # the bit's word, or another one, is read
    cleared: Value  # nothing is read, and what was is forgotten
    out: Value


class BlockRamProof(Proof):
    """Any one bit of the memory is what was written there last, whatever both ports do.

    What the memory holds at first is unknown, so that what is proved of the first accesses
    holds for those that follow any others. A bit is named by its 18-bit word, the half of that
    word, and the place in the half, of which the ninth is out of the narrow ports' reach. Ports
    that write one bit at the same time are left out; a port that reads what the other one
    writes gets what was there before. A port in reset writes nothing, and gives zeros.
    """

    DEPTH = 4
    CELLS = "ecp5"
    MUTANT = (
        "sim/cells/ecp5/DP16KD.v",
        "4: place = 9 * address[3]",
        "4: place = 8 * address[3]",
    )

    #: Widths of port A and port B, and what a port does that writes.
    MODES = (
        (1, 1, "NORMAL"),
        (2, 2, "READBEFOREWRITE"),
        (4, 4, "WRITETHROUGH"),
        (9, 9, "NORMAL"),
        (18, 18, "READBEFOREWRITE"),
        (36, 36, "NORMAL"),
        (18, 1, "WRITETHROUGH"),
        (2, 9, "NORMAL"),
        (4, 18, "NORMAL"),
    )

    def __init__(self, width_a: int, width_b: int, mode: str) -> None:
        self._width_a, self._width_b, self._mode = width_a, width_b, mode
        watched = {"word": In(10), "half": In(1), "place": In(4)}
        super().__init__({"a": In(Pins), "b": In(Pins), **watched})

    @classmethod
    def variants(cls) -> Iterator[Self]:
        return (cls(*mode) for mode in cls.MODES)

    def build(self, m: Module) -> None:
        for watched in (self.word, self.half, self.place):
            always_steady(m, watched)
        m.d.comb += Assume(self.place < 9)
        out_a, out_b = self._ram(m)
        if self._width_a == 36:  # A writes what both are given, B reads to the outputs of both
            ports = [
                self._port(36, self.a, Cat(self.a.data, self.b.data), None),
                self._port(36, self.b, None, Cat(out_a, out_b)),
            ]
        else:
            ports = [
                self._port(self._width_a, self.a, self.a.data, out_a),
                self._port(self._width_b, self.b, self.b.data, out_b),
            ]
        _follow(m, ports, written_is_read=self._mode == "WRITETHROUGH")

    def _ram(self, m: Module) -> list[Signal]:
        outputs: list[Signal] = []
        buses: dict[str, Any] = {}
        for name, width, pins in (("A", self._width_a, self.a), ("B", self._width_b, self.b)):
            outputs.append(Signal(18, name=f"out_{name}"))
            buses |= _bus(f"i_DI{name}", pins.data) | _bus(f"i_AD{name}", pins.address)
            buses |= _bus(f"o_DO{name}", outputs[-1])
            buses |= {f"i_CE{name}": pins.enable, f"i_WE{name}": pins.write}
            buses |= {f"i_RST{name}": pins.reset}
            buses |= {f"i_CLK{name}": ClockSignal(), f"p_DATA_WIDTH_{name}": width}
            buses |= {f"p_WRITEMODE_{name}": self._mode}
        m.submodules += Instance("DP16KD", **buses)
        return outputs

    def _port(self, width: int, pins: data.View, given: Value | None, out: Value | None) -> _Port:
        """A port; without ``given`` it only reads, without ``out`` it only writes."""
        bits = Cat(self.place, self.half, self.word)
        address, enabled = pins.address, Const(1)
        if width == 36:
            hit, place = address[5:] == self.word[1:], self.place + 9 * bits[4:6]
            enabled = address.bit_select(bits[4:6], 1)
        elif width == 18:
            hit, place = address[4:] == self.word, self.place + 9 * self.half
            enabled = address.bit_select(self.half, 1)
        elif width == 9:
            hit, place = address[3:] == bits[4:], self.place
        else:
            low = exact_log2(width)
            hit = (address[low:] == Cat(self.place[low:3], bits[4:])) & ~self.place[3]
            place = self.place & (width - 1)
        active = pins.enable & ~pins.reset
        writes = active & pins.write & hit & enabled
        reads, cleared = active & (~pins.write | (self._mode != "NORMAL")), pins.reset
        if given is None:
            given, writes, reads = Const(0, 36), Const(0), active
        if out is None:
            out, reads, cleared = Const(0, 36), Const(0), Const(0)
        return _Port(hit, place, writes, given.bit_select(place, 1), reads, cleared, out)


def _follow(m: Module, ports: list[_Port], written_is_read: bool) -> None:
    """Demand that each read of the bit gives what is known of it; the first one may teach that."""
    known, value = Signal(name="known"), Signal(name="value")
    learned, content = Signal(name="learned"), Signal(name="content")
    m.d.comb += [learned.eq(known), content.eq(value), Assume(~(ports[0].writes & ports[1].writes))]
    m.d.sync += [known.eq(learned), value.eq(content)]
    met: Value = Const(0)
    for port in ports:
        read, asked, place = Signal(name="read"), Signal(name="asked"), Signal(6, name="place")
        cleared = Signal(name="cleared")
        was_known, expected = Signal(name="was_known"), Signal(name="expected")
        before = Signal(len(port.out), name="before")
        answer = port.out.bit_select(place, 1)
        m.d.sync += [
            read.eq(port.reads),
            cleared.eq(port.cleared),
            asked.eq(port.reads & port.hit),
            place.eq(port.place),
            was_known.eq(learned),
            expected.eq(content),
            before.eq(port.out),
        ]
        with m.If(asked & was_known):
            m.d.comb += Assert(answer == expected)
        with m.Elif(asked & ~known):
            m.d.comb += [learned.eq(1), content.eq(answer)]
        with m.If(cleared):
            m.d.comb += Assert(port.out == 0)
        with m.Elif(~read):
            m.d.comb += Assert(port.out == before)
        with m.If(port.writes):
            m.d.sync += [known.eq(1), value.eq(port.given)]
            if written_is_read:
                m.d.sync += [was_known.eq(1), expected.eq(port.given)]
        met |= asked & was_known & expected
    m.d.comb += Cover(met)
