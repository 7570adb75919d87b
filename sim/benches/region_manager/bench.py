"""Bench of the Region Manager: everything that it answers equals the golden model's answer."""

from adagrain.models.interface.records import size
from adagrain.models.interface.units.region_manager import WORD, RegionRecord
from adagrain.models.region_manager.table import RegionTable
from adagrain.sim.simulators.bench import Bench, bench
from adagrain.sim.simulators.stimulus import Stimulus, as_list

from .traffic import configured, read, runs, step, stimuli, write


@bench(cycles=400_000)
async def equals_the_golden_model(b: Bench) -> None:
    """Decisions, parameters and table after random steps, at any idling and back-pressure."""
    regions = b.component.configuration.regions
    for run in runs(b.seed, b.scaled(10), regions, 8):
        await b.demand(*stimuli(run, regions))
    assert b.get("decision_cycles") <= b.component.configuration.decision_cycles


@bench(cycles=100_000)
async def serves_accesses_between_updates(b: Bench) -> None:
    """Reads that come in the middle of updates get their words, and disturb nothing."""
    decisions = b.sink("o")  # an access waits for a decision that nobody takes
    spared = b.component.configuration.regions - 1
    for run in runs(b.seed, b.scaled(10), spared, 2):
        golden = RegionTable(spared)
        record = b.random.randbytes(size(RegionRecord))
        first = spared * len(record) // WORD
        await b.demand(*configured(golden, run), write(first, record))
        for head, updates in run.steps:
            given, decided = step(golden, head, updates)
            await b.demand(given)
            b.begin(decided)
            await b.demand(read(first, record))
            await decisions.expect(as_list(decided.outputs["o"]))
        await b.demand(read(0, golden.read(0, first)))


@bench(cycles=5_000)
async def counts_decisions(b: Bench) -> None:
    """Refused updates count as well; an update's cycles do not depend on who waits for it."""
    b.sink("o", stall=0.9)
    refused = {"region": 0xFFFF, "status": 1}
    await b.demand(Stimulus({"i": [{"region": 0xFFFF}] * 3}, {"o": [refused] * 3}))
    assert b.get("decisions") == 3
    assert 0 < b.get("decision_cycles") < 24
