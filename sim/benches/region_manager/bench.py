"""Bench of the Region Manager: everything that it answers equals the golden model's answer."""

from typing import Any

from adagrain.models.interface.records import pack, size, unpack
from adagrain.models.interface.units.region_manager import (
    WORD,
    Decision,
    RegionParameters,
    RegionRecord,
    RegionStep,
    RegionUpdate,
)
from adagrain.models.region_manager.table import RegionTable
from adagrain.sim.simulators.bench import Bench, bench
from adagrain.sim.simulators.payload import decode

from .traffic import Run, runs


@bench(cycles=400_000)
async def equals_the_golden_model(b: Bench) -> None:
    """Decisions, parameters and table after random steps, at any idling and back-pressure."""
    regions = b.component.configuration.regions
    for run in runs(b.seed, b.scaled(10), regions, 8):
        golden = await _configure(b, run)
        for head, updates in run.steps:
            await _step(b, golden, head, updates)
        await _compare_table(b, golden)
    assert int(b.port("decision_cycles").value) <= b.component.configuration.decision_cycles


@bench(cycles=100_000)
async def serves_accesses_between_updates(b: Bench) -> None:
    """Reads that come in the middle of updates get their words, and disturb nothing."""
    decisions = b.sink("o")  # an access waits for a decision that nobody takes
    spared = b.component.configuration.regions - 1
    for run in runs(b.seed, b.scaled(10), spared, 2):
        golden = await _configure(b, run)
        record = b.random.randbytes(size(RegionRecord))
        first = spared * len(record) // WORD
        await _write(b, first, record)
        for head, updates in run.steps:
            expected = golden.step(head, updates)
            await _put(b, "i_step", RegionStep, head)
            b.source("i").put(*_elements(RegionUpdate, updates))
            await _read(b, first, record)
            await decisions.expect(_elements(Decision, expected))
        await _compare_table(b, golden)


@bench(cycles=5_000)
async def counts_decisions(b: Bench) -> None:
    """Refused updates count as well; an update's cycles do not depend on who waits for it."""
    bad = pack(RegionUpdate, region=0xFFFF)
    b.source("i").put(*_elements(RegionUpdate, 3 * bad))
    expected = pack(Decision, region=0xFFFF, status=1)
    await b.sink("o", stall=0.9).expect(_elements(Decision, 3 * expected))
    assert int(b.port("decisions").value) == 3
    assert 0 < int(b.port("decision_cycles").value) < 24


async def _configure(b: Bench, run: Run) -> RegionTable:
    golden = RegionTable(b.component.configuration.regions)
    golden.parameters = unpack(RegionParameters, run.parameters)
    golden.write(0, run.table)
    await _put(b, "i_parameters", RegionParameters, run.parameters)
    await _write(b, 0, run.table)
    return golden


async def _step(b: Bench, golden: RegionTable, head: bytes, updates: bytes) -> None:
    expected = golden.step(head, updates)
    await _put(b, "i_step", RegionStep, head)
    b.source("i").put(*_elements(RegionUpdate, updates))
    await b.sink("o").expect(_elements(Decision, expected))
    await b.wait()
    raw = int(b.port("parameters").value).to_bytes(size(RegionParameters), "little")
    assert unpack(RegionParameters, raw) == golden.parameters, f"parameters differ: {b}"


async def _compare_table(b: Bench, golden: RegionTable) -> None:
    for region in range(b.component.configuration.regions):
        first = region * size(RegionRecord) // WORD
        words = golden.read(first, size(RegionRecord) // WORD)
        if any(words):
            await _read(b, first, words)


async def _put(b: Bench, stream: str, layout: Any, raw: bytes) -> None:
    source = b.source(stream)
    source.put(*_elements(layout, raw))
    await source.drain()


async def _write(b: Bench, first: int, raw: bytes) -> None:
    source = b.source("i_access")
    for at, word in enumerate(_words(raw)):
        source.put({"number": first + at, "write": 1, "item": word})
    await source.drain()


async def _read(b: Bench, first: int, raw: bytes) -> None:
    words = _words(raw)
    source = b.source("i_access")
    source.put(*({"number": first + at, "write": 0, "item": 0} for at in range(len(words))))
    await b.sink("o_access").expect(words)


def _words(raw: bytes) -> list[int]:
    starts = range(0, len(raw), WORD)
    return [int.from_bytes(raw[start : start + WORD], "little") for start in starts]


def _elements(layout: Any, raw: bytes) -> list[Any]:
    width = size(layout)
    starts = range(0, len(raw), width)
    return [
        decode(layout, int.from_bytes(raw[start : start + width], "little")) for start in starts
    ]
