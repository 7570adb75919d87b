"""Our models of the ECP5's multiplier and block RAM, against Python, as synthesis uses them."""

import random
from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import Module, Signal, signed, unsigned
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.dsp.ecp5 import Ecp5Product
from adagrain.hdl.stream.pipeline import elastic
from adagrain.sim.compiled import CompiledUnit
from adagrain.sim.simulators import runner
from adagrain.sim.simulators.verilog import emit

pytestmark = pytest.mark.skipif(
    runner.missing("verilator") is not None, reason=str(runner.missing("verilator"))
)

PRODUCTS = 100_000
OPERATIONS = 50_000

#: Widths and depths of block RAM between the narrowest and the widest.
BETWEEN = [(2, 8192), (4, 4096), (9, 2048), (18, 1024)]


Factors = data.StructLayout({"a": signed(18), "b": signed(18)})


class Product(wiring.Component):
    """Two factors of 18 bits and their product, a cycle later."""

    def __init__(self, shape: object) -> None:
        factors = data.StructLayout({"a": shape, "b": shape})
        super().__init__({"i": In(stream.Signature(factors)), "o": Out(stream.Signature(36))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.i.ready.eq(~self.o.valid | self.o.ready)
        with m.If(self.i.ready):
            m.d.sync += [
                self.o.valid.eq(self.i.valid),
                self.o.payload.eq(self.i.payload.a * self.i.payload.b),
            ]
        return m


class CellProduct(wiring.Component):
    """The same of two signed factors, in the cell itself, with its registers on both sides."""

    def __init__(self) -> None:
        super().__init__({"i": In(stream.Signature(Factors)), "o": Out(stream.Signature(36))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        enable, product = elastic(m, self.i, self.o, 2), Signal(signed(36))
        m.submodules.cell = Ecp5Product(enable, self.i.p.a, self.i.p.b, product)
        m.d.comb += self.o.payload.eq(product)
        return m


class Store(wiring.Component):
    """A memory: each operation reads a word, and may write another one."""

    def __init__(self, width: int, depth: int) -> None:
        self.width, self.depth = width, depth
        operation = data.StructLayout(
            {"read": 16, "write": 15, "enable": 1, "data": unsigned(width)}
        )
        super().__init__({"i": In(stream.Signature(operation)), "o": Out(stream.Signature(width))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        init = [(7 * n + 1) % (1 << self.width) for n in range(self.depth)]
        m.submodules.words = words = memory.Memory(shape=self.width, depth=self.depth, init=init)
        write, read = words.write_port(), words.read_port()
        enable = Signal()
        m.d.comb += [
            self.i.ready.eq(~self.o.valid | self.o.ready),
            enable.eq(self.i.valid & self.i.ready),
            read.addr.eq(self.i.payload.read),
            read.en.eq(enable),
            write.addr.eq(self.i.payload.write),
            write.data.eq(self.i.payload.data),
            write.en.eq(enable & self.i.payload.enable),
            self.o.payload.eq(read.data),
        ]
        with m.If(self.i.ready):
            m.d.sync += self.o.valid.eq(self.i.valid)
        return m


@pytest.mark.parametrize("sign", [False, True], ids=["unsigned", "signed"])
def test_multiplier(sign: bool, tmp_path: Path) -> None:
    component = Product(signed(18) if sign else unsigned(18))
    assert "MULT18X18D" in emit(component, "dut", tmp_path, "ecp5").read_text()
    demand_products(Product(signed(18) if sign else unsigned(18)), sign)


def test_multiplier_with_its_registers() -> None:
    demand_products(CellProduct(), sign=True)


def demand_products(component: wiring.Component, sign: bool) -> None:
    generator = random.Random(5)
    corners = [0, 1, 2, 0x1FFFF, 0x20000, 0x20001, 0x3FFFF]
    pairs = [(a, b) for a in corners for b in corners]
    pairs += [(generator.getrandbits(18), generator.getrandbits(18)) for _ in range(PRODUCTS)]
    words = np.array([a | b << 18 for a, b in pairs], dtype=np.uint64)
    with CompiledUnit(component, "product", family="ecp5") as u:
        run = u.run({"i": words}, {"o": len(pairs)}, max_cycles=10 * len(pairs))
    wanted = [_value(a, sign) * _value(b, sign) & (1 << 36) - 1 for a, b in pairs]
    assert run.outputs["o"].tolist() == wanted


def _value(bits: int, sign: bool) -> int:
    return bits - (1 << 18) if sign and bits >> 17 else bits


@pytest.mark.parametrize(
    ("width", "depth"),
    [(1, 16384), *(pytest.param(*own, marks=pytest.mark.full) for own in BETWEEN), (32, 512)],
)
def test_block_ram(width: int, depth: int, tmp_path: Path) -> None:
    assert "DP16KD" in emit(Store(width, depth), "dut", tmp_path, "ecp5").read_text()
    generator = random.Random(width)
    content = [(7 * n + 1) % (1 << width) for n in range(depth)]
    operations, wanted = [], []
    for _ in range(OPERATIONS):
        near = generator.random() < 0.5  # so that words are met again, and at the same time
        read, write = (generator.randrange(4 if near else depth) for _ in range(2))
        enable, word = generator.randrange(2), generator.getrandbits(width)
        operations.append(read | write << 16 | enable << 31 | word << 32)
        wanted.append(content[read])
        if enable:
            content[write] = word
    words = np.array(operations, dtype=np.uint64)
    with CompiledUnit(Store(width, depth), "store", family="ecp5") as unit:
        run = unit.run({"i": words}, {"o": OPERATIONS}, max_cycles=10 * OPERATIONS)
    assert run.outputs["o"].tolist() == wanted
