# amaranth: UnusedElaboratable=no
"""Streams of compiled units: what is offered stays, and what is not offered is noise."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.sim.compiled import CompiledUnit, RetractionError
from adagrain.sim.simulators import runner

#: An input's payload; with bits that its storage does not need.
WIDTH = 77

STEADY, CHANGES, VANISHES, HEEDS_READY = range(4)


class Careless(wiring.Component):
    """An output that is as bad as it is told; an input that counts the cycles of gaps, and those
    of them in which the payload is still that of the element before."""

    steady: Out(stream.Signature(8))
    o: Out(stream.Signature(100))
    i: In(stream.Signature(WIDTH))
    way: In(2)
    seen: Out(WIDTH)
    gaps: Out(16)
    stale: Out(16)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        count = Signal(8)
        m.d.sync += count.eq(count + 1)
        m.d.comb += [self.steady.valid.eq(1), self.o.valid.eq(1)]
        with m.Switch(self.way):
            with m.Case(CHANGES):
                m.d.comb += self.o.p[92:].eq(count)
            with m.Case(VANISHES):
                m.d.comb += self.o.valid.eq(count[1])
            with m.Case(HEEDS_READY):
                m.d.comb += self.o.p.eq(self.o.ready)
        m.d.comb += [self.i.ready.eq(1), self.seen.eq(self.i.p)]
        before, taken = Signal(WIDTH), Signal()
        with m.If(self.i.valid):
            m.d.sync += [before.eq(self.i.p), taken.eq(1)]
        with m.Elif(taken):
            m.d.sync += [
                self.gaps.eq(self.gaps + 1),
                self.stale.eq(self.stale + (self.i.p == before)),
            ]
        return m


@pytest.fixture
def unit() -> Iterator[CompiledUnit]:
    if reason := runner.missing("verilator"):
        pytest.skip(reason)
    with CompiledUnit(Careless(), "careless") as unit:
        yield unit


@pytest.mark.parametrize("way", [CHANGES, VANISHES, HEEDS_READY])
def test_an_output_that_does_not_keep_what_it_offers_is_found(
    unit: CompiledUnit, way: int, seed: int
) -> None:
    unit.set("way", way)
    said = r"^careless took back what o offered, or changed it, .*: in cycle \d+ of the run$"
    with pytest.raises(RetractionError, match=said) as caught:
        unit.run({}, {"o": 200, "steady": 200}, max_cycles=5000, stall=128, seed=seed)
    assert isinstance(caught.value, AssertionError)
    unit.set("way", STEADY)
    run = unit.run({}, {"o": 200, "steady": 200}, max_cycles=5000, stall=128, seed=seed)
    assert len(run.outputs["o"]) == 200


def test_the_cycle_is_told(unit: CompiledUnit) -> None:
    """Also of an output that the run does not want."""
    unit.set("way", CHANGES)
    with pytest.raises(RetractionError, match="in cycle 1 of the run"):
        unit.run({}, {"steady": 9}, max_cycles=50)


def test_an_output_may_be_let_retract(unit: CompiledUnit) -> None:
    unit.set("way", CHANGES)
    run = unit.run({}, {"o": 50}, max_cycles=500, stall=128, may_retract=["o"])
    assert len(run.outputs["o"]) == 50
    with pytest.raises(RetractionError):
        unit.run({}, {"o": 50}, max_cycles=500, stall=128, may_retract=["steady"])
    with pytest.raises(ValueError, match="of may_retract must be one of steady, o, not 'i'"):
        unit.run({}, {"o": 50}, max_cycles=500, may_retract=["i"])


def test_what_is_taken_at_once_may_change(unit: CompiledUnit) -> None:
    unit.set("way", CHANGES)
    assert unit.run({}, {"o": 300}, max_cycles=400).cycles == 300


def _elements(count: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 1 << 32, (count, 3), dtype=np.uint32)


def test_gaps_between_elements_are_noise(unit: CompiledUnit, seed: int) -> None:
    unit.run({"i": _elements(500)}, max_cycles=5000, idle=128, seed=seed)
    unit.step(10)
    assert unit.get("gaps") > 100 and unit.get("stale") == 0


def test_noise_is_that_of_the_seed(unit: CompiledUnit) -> None:
    found = []
    for seed in (1, 2, 1):
        unit.run({"i": _elements(3)}, max_cycles=50, seed=seed)
        found.append(unit.get("seen"))
    assert found[0] == found[2] != found[1]
    assert all(noise >> 64 and noise & 0xFFFF_FFFF for noise in found)
