# amaranth: UnusedElaboratable=no
"""The compiled Region Manager against its golden model, on long random runs."""

import random
from collections.abc import Iterator

import pytest

from adagrain.hdl.region_manager import RegionManager
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.records import pack, size, unpack, unpack_all
from adagrain.models.interface.units.region_manager import (
    CadencePolicy,
    Decision,
    RegionParameters,
    RegionStep,
    RegionUpdate,
    SpeculationPolicy,
)
from adagrain.models.region_manager.table import RegionTable, default_parameters, region_record
from adagrain.sim.benches.region_manager.traffic import Run, runs, stimuli
from adagrain.sim.compiled import CompiledUnit, demand
from adagrain.sim.simulators import verilator

REGIONS = 32
STEPS = 40

#: Cycles until an update is taken; docs/region_manager.md tells of the next, in which its decision
#: is offered.
MOST_CYCLES = 63


@pytest.fixture(scope="module", params=["tiny", "full"])
def component(request: pytest.FixtureRequest) -> RegionManager:
    return RegionManager(configuration(request.param, regions=REGIONS))


@pytest.fixture(scope="module")
def unit(component: RegionManager) -> Iterator[CompiledUnit]:
    try:
        verilator.require()
    except verilator.ToolMissingError as error:
        pytest.skip(str(error))
    with CompiledUnit(component, "region_manager") as unit:
        yield unit


def test_equals_the_golden_model(unit: CompiledUnit, seed: int) -> None:
    before = unit.get("decisions")
    given = runs(seed, 20, REGIONS, STEPS)
    demand(unit, (stimulus for run in given for stimulus in stimuli(run, REGIONS)), seed=seed)
    updates = sum(len(body) for run in given for _, body in run.steps) // size(RegionUpdate)
    assert updates > 10_000
    assert unit.get("decisions") - before == updates


def compare(unit: CompiledUnit, run: Run, seed: int = 1) -> None:
    """Run both."""
    demand(unit, stimuli(run, REGIONS), seed=seed)


@pytest.mark.parametrize(
    ("parameters", "updates"),
    [
        # W·(A − N·W) · 1024 equals T · (N·W² − A): just quiet, and T/4 of it just not noisy.
        ({"noise": 1024}, [{"a": 8, "n": 3, "usable": 1}] * 4),
        ({"noise": 256}, [{"a": 8, "n": 3, "usable": 1}] * 4),
        # Sums that were compared are not compared again, though no sample is asked for.
        ({"noise_samples": 0}, [{"a": 8, "n": 2, "usable": 1}, *[{"usable": 0}] * 6]),
    ],
)
def test_edges_of_the_noise_rule(
    unit: CompiledUnit, parameters: dict[str, int], updates: list[dict[str, int]]
) -> None:
    fields = default_parameters(2) | {"noise_samples": 1} | parameters
    record = region_record(cadence_policy=CadencePolicy.NOISE, cadence=2, cadence_max=9)
    raw = [pack(RegionUpdate, exponent=100, decide=1, **update) for update in updates]
    head = pack(RegionStep)
    steps = [(head, update) for update in raw]
    compare(unit, Run(pack(RegionParameters, **fields), record, steps))


@pytest.mark.parametrize("epoch", [6, 7, 8])
def test_edges_of_the_phase_s_epoch(unit: CompiledUnit, epoch: int) -> None:
    fields = default_parameters(2) | {"epoch": epoch}
    policy = {"cadence_policy": CadencePolicy.PHASE, "phase_epoch": 7}
    record = region_record(cadence_min=1, cadence=2, cadence_max=3, **policy)
    step = (pack(RegionStep), pack(RegionUpdate, exponent=100, decide=1))
    compare(unit, Run(pack(RegionParameters, **fields), record, [step]))


@pytest.mark.parametrize("guard", [895, 896, 897])
def test_edges_of_the_loss_guard(unit: CompiledUnit, guard: int) -> None:
    """The second loss is 8·(1/8 − 1/64) octaves above the average, which is 896."""
    fields = default_parameters(2) | {"guard": guard}
    record = region_record(cadence_policy=CadencePolicy.NOISE, cadence=2)
    update = pack(RegionUpdate, exponent=100, decide=1)
    heads = [pack(RegionStep, loss=loss, loss_valid=1) for loss in (2**16, 2**24)]
    run = Run(pack(RegionParameters, **fields), record, [(head, update) for head in heads])
    compare(unit, run)


@pytest.mark.parametrize("variance", [511, 512, 513])
@pytest.mark.parametrize("above", [-1, 0, 1])
@pytest.mark.parametrize("divergence", [32766, 32767, 32768])
def test_edges_of_the_seed_s_rules(
    unit: CompiledUnit, variance: int, above: int, divergence: int
) -> None:
    """At α = 1/2 of two workers, whose variance is twice the mean's square."""
    record = region_record(policy=SpeculationPolicy.SEED_LITERAL)
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
    compare(unit, Run(pack(RegionParameters, **fields), record, steps))


@pytest.mark.parametrize("losses", [(2**32 - 1, 1), (1, 2**32 - 1)], ids=["falls", "rises"])
def test_the_seed_s_rules_at_loss_rates_of_many_octaves(
    unit: CompiledUnit, losses: tuple[int, int]
) -> None:
    fields = default_parameters(2) | {"rate": 1000, "variance": 512, "divergence": 40000}
    record = region_record(policy=SpeculationPolicy.SEED_LITERAL)
    update = pack(RegionUpdate, exponent=100, decide=1, usable=1, a=2**40, n=2**38)
    heads = [pack(RegionStep, loss=losses[step >= 40], loss_valid=1) for step in range(80)]
    run = Run(pack(RegionParameters, **fields), record, [(head, update) for head in heads])
    compare(unit, run)
    golden = RegionTable(REGIONS)
    golden.write(0, record)
    golden.parameters = fields
    rates = [unpack(Decision, golden.step(head, update))["loss_rate"] for head in heads]
    assert max(map(abs, rates)) > 16 << 10


def test_decides_within_the_promised_cycles(component: RegionManager, unit: CompiledUnit) -> None:
    compare(unit, runs(21, 1, REGIONS, STEPS)[0])
    assert 16 < unit.get("decision_cycles") <= MOST_CYCLES
    assert component.configuration.decision_cycles >= MOST_CYCLES


def closes_an_epoch(head: bytes, updates: bytes) -> bool:
    """True if a step ends a decision epoch, and decides on some region."""
    decided = (one["decide"] for one in unpack_all(RegionUpdate, updates))
    return bool(unpack(RegionStep, head)["epoch_end"]) and any(decided)


@pytest.mark.full
def test_100_000_decision_epochs_equal_the_golden_model(unit: CompiledUnit, seed: int) -> None:
    """Of random policies, parameters, numbers of workers; times, accepts, trials at extremes."""
    seeds, epochs, decisions = random.Random(seed), 0, 0
    while epochs < 100_000:
        number = seeds.getrandbits(31)
        (run,) = runs(number, 1, REGIONS // 4, 10 * STEPS)
        compare(unit, run, seed=number)
        epochs += sum(closes_an_epoch(*own) for own in run.steps)
        decisions += sum(len(updates) // size(RegionUpdate) for _, updates in run.steps)
    print(f"0 mismatches in {decisions:,} decisions of {epochs:,} decision epochs, seed {seed}")
