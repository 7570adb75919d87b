# amaranth: UnusedElaboratable=no
"""The compiled Region Manager against its golden model, on long random runs."""

import os
from collections.abc import Iterator

import numpy as np
import pytest

from adagrain.hdl.region_manager import RegionManager
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.records import pack, size, unpack
from adagrain.models.interface.units.region_manager import (
    WORD,
    CadencePolicy,
    Decision,
    Policy,
    RegionParameters,
    RegionStep,
    RegionUpdate,
)
from adagrain.models.region_manager.table import RegionTable, default_parameters, region_record
from adagrain.sim.benches.region_manager.traffic import Run, runs
from adagrain.sim.compiled import CompiledUnit
from adagrain.sim.simulators import verilator
from adagrain.sim.simulators.payload import encode

REGIONS = 32
STEPS = 40
SEED = int(os.environ.get("SEED", "20"))


class CompiledTable:
    """A compiled Region Manager with the golden table's methods."""

    def __init__(self, unit: CompiledUnit, component: RegionManager) -> None:
        self.unit = unit
        self._access = component.i_access.payload.shape()
        self.promise = component.configuration.decision_cycles

    def write(self, first: int, raw: bytes) -> None:
        starts = range(0, len(raw), WORD)
        words = [int.from_bytes(raw[start : start + WORD], "little") for start in starts]
        self._run("i_access", self._accesses(first, words, write=1))

    def read(self, first: int, count: int) -> bytes:
        accesses = self._accesses(first, [0] * count, write=0)
        return self._run("i_access", accesses, o_access=count).tobytes()

    @property
    def settings(self) -> bytes:
        value = encode(RegionParameters, self.unit.get("parameters"))
        return value.to_bytes(size(RegionParameters), "little")

    @settings.setter
    def settings(self, raw: bytes) -> None:
        self._run("i_parameters", raw)

    def step(self, head: bytes, updates: bytes) -> bytes:
        self._run("i_step", head)
        return self._run("i", updates, o=len(updates) // size(RegionUpdate)).tobytes()

    def _accesses(self, first: int, words: list[int], write: int) -> bytes:
        raw = -(-self._access.size // 32) * 4
        return b"".join(
            encode(self._access, {"number": first + at, "write": write, "item": word}).to_bytes(
                raw, "little"
            )
            for at, word in enumerate(words)
        )

    def _run(self, name: str, raw: bytes, **outputs: int) -> np.ndarray:
        run = self.unit.run(
            {name: raw}, outputs, max_cycles=20_000 + 100 * len(raw), idle=60, stall=60
        )
        return next(iter(run.outputs.values()), np.empty(0))


@pytest.fixture(scope="module", params=["tiny", "full"])
def table(request: pytest.FixtureRequest) -> Iterator[CompiledTable]:
    try:
        verilator.require()
    except verilator.ToolMissingError as error:
        pytest.skip(str(error))
    component = RegionManager(configuration(request.param, regions=REGIONS))
    with CompiledUnit(component, "region_manager") as unit:
        yield CompiledTable(unit, component)


def compare(table: CompiledTable, run: Run) -> int:
    """Run both; the number of updates."""
    golden = RegionTable(REGIONS)
    golden.parameters = unpack(RegionParameters, run.parameters)
    golden.write(0, run.table)
    table.settings = run.parameters
    table.write(0, run.table)
    words = len(run.table) // WORD
    assert table.read(0, words) == run.table
    updates = 0
    for head, body in run.steps:
        expected, got = golden.step(head, body), table.step(head, body)
        _compare_decisions(body, expected, got)
        assert unpack(RegionParameters, table.settings) == golden.parameters
        updates += len(body) // size(RegionUpdate)
    assert table.read(0, words) == golden.read(0, words)
    return updates


def _compare_decisions(updates: bytes, expected: bytes, got: bytes) -> None:
    width = size(Decision)
    for at in range(0, len(expected), width):
        if got[at : at + width] != expected[at : at + width]:
            source = at // width * size(RegionUpdate)
            update = unpack(RegionUpdate, updates[source : source + size(RegionUpdate)])
            fields = unpack(Decision, expected[at : at + width])
            other = unpack(Decision, got[at : at + width])
            differing = {name: (fields[name], other[name]) for name in fields}
            differing = {name: pair for name, pair in differing.items() if pair[0] != pair[1]}
            pytest.fail(f"golden and gateware differ in {differing} after {update}; seed {SEED}")


def test_equals_the_golden_model(table: CompiledTable) -> None:
    before = table.unit.get("decisions")
    updates = sum(compare(table, run) for run in runs(SEED, 20, REGIONS, STEPS))
    assert updates > 10_000
    assert table.unit.get("decisions") - before == updates


@pytest.mark.parametrize(
    ("parameters", "updates"),
    [
        # W·(A − N·W) · 1024 equals T · (N·W² − A): just quiet, and T/4 of it just not noisy.
        ({"noise": 1024}, [{"a": 8, "n": 3, "usable": 1}] * 4),
        ({"noise": 256}, [{"a": 8, "n": 3, "usable": 1}] * 4),
        # Sums that were judged are not judged again, though no sample is asked for.
        ({"noise_samples": 0}, [{"a": 8, "n": 2, "usable": 1}, *[{"usable": 0}] * 6]),
    ],
)
def test_edges_of_the_noise_rule(
    table: CompiledTable, parameters: dict[str, int], updates: list[dict[str, int]]
) -> None:
    fields = default_parameters(2) | {"noise_samples": 1} | parameters
    record = region_record(cadence_policy=CadencePolicy.NOISE, cadence=2, cadence_max=9)
    raw = [pack(RegionUpdate, exponent=100, decide=1, **update) for update in updates]
    head = pack(RegionStep)
    steps = [(head, update) for update in raw]
    compare(table, Run(pack(RegionParameters, **fields), record, steps))


@pytest.mark.parametrize("guard", [895, 896, 897])
def test_edges_of_the_loss_guard(table: CompiledTable, guard: int) -> None:
    """The second loss is 8·(1/8 − 1/64) octaves above the average, which is 896."""
    fields = default_parameters(2) | {"guard": guard}
    record = region_record(cadence_policy=CadencePolicy.NOISE, cadence=2)
    update = pack(RegionUpdate, exponent=100, decide=1)
    heads = [pack(RegionStep, loss=loss, loss_valid=1) for loss in (2**16, 2**24)]
    run = Run(pack(RegionParameters, **fields), record, [(head, update) for head in heads])
    compare(table, run)


@pytest.mark.parametrize("variance", [511, 512, 513])
@pytest.mark.parametrize("above", [-1, 0, 1])
@pytest.mark.parametrize("divergence", [32766, 32767, 32768])
def test_edges_of_the_seed_s_rules(
    table: CompiledTable, variance: int, above: int, divergence: int
) -> None:
    """At α = 1/2 of two workers, whose variance is twice the mean's square."""
    record = region_record(policy=Policy.SEED_LITERAL)
    update = pack(RegionUpdate, exponent=100, decide=1, usable=1, a=2**40, n=2**38)
    heads = [pack(RegionStep, loss=2**20 >> step // 4, loss_valid=1) for step in range(40)]
    steps = [*((head, b"") for head in heads), (pack(RegionStep), update)]
    usual = RegionTable(REGIONS)
    usual.parameters = default_parameters(2)
    usual.write(0, record)
    (*_, raw) = [usual.step(*step) for step in steps]
    decision = unpack(Decision, raw)
    assert decision["alpha"] == 32768 and decision["loss_rate"] > 0
    fields = default_parameters(2) | {"variance": variance, "divergence": divergence}
    fields |= {"rate": decision["loss_rate"] + above}
    compare(table, Run(pack(RegionParameters, **fields), record, steps))


@pytest.mark.parametrize("losses", [(2**32 - 1, 1), (1, 2**32 - 1)], ids=["falls", "rises"])
def test_the_seed_s_rules_at_loss_rates_of_many_octaves(
    table: CompiledTable, losses: tuple[int, int]
) -> None:
    fields = default_parameters(2) | {"rate": 1000, "variance": 512, "divergence": 40000}
    record = region_record(policy=Policy.SEED_LITERAL)
    update = pack(RegionUpdate, exponent=100, decide=1, usable=1, a=2**40, n=2**38)
    heads = [pack(RegionStep, loss=losses[step >= 40], loss_valid=1) for step in range(80)]
    run = Run(pack(RegionParameters, **fields), record, [(head, update) for head in heads])
    compare(table, run)
    golden = RegionTable(REGIONS)
    golden.write(0, record)
    golden.parameters = fields
    rates = [unpack(Decision, golden.step(head, update))["loss_rate"] for head in heads]
    assert max(map(abs, rates)) > 16 << 10


def test_decides_within_the_promised_cycles(table: CompiledTable) -> None:
    compare(table, runs(SEED + 1, 1, REGIONS, STEPS)[0])
    assert 16 < table.unit.get("decision_cycles") <= table.promise


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1000, 1030))
def test_equals_the_golden_model_at_length(table: CompiledTable, seed: int) -> None:
    for run in runs(seed, 20, REGIONS, STEPS):
        compare(table, run)
