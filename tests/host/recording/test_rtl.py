"""Decisions of recordings, made again by the Region Manager's RTL."""

from pathlib import Path

import pytest
from recordings import Runs, first, found, write

from adagrain.host.train.recorded_run import recorded_run
from adagrain.models.interface.recording import Kind, RecordingError, file_of, read_entries
from adagrain.sim.benches.region_manager.recomputed import recompute
from adagrain.sim.benches.region_manager.recorded import RECORDING
from adagrain.sim.simulators import runner


@pytest.fixture(scope="module")
def adaptive(workers: Runs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first worker's file of a run of three, whose device decides from measured times."""
    folder = tmp_path_factory.mktemp("adaptive")
    options = {"policy": "cost_aware", "steps": 48, "jitter": 5, "alike": True}
    found(workers({"record": str(folder)}, count=3, **options))
    return file_of(folder, 0)


@pytest.fixture
def simulator() -> None:
    if reason := runner.missing("verilator"):
        pytest.skip(reason)


@pytest.mark.usefixtures("simulator")
def test_the_rtl_decides_as_it_was_recorded(adaptive: Path, seed: int) -> None:
    same = recompute(adaptive, seed=seed)
    assert (same.steps, same.epochs, same.decisions) == (48, 12, 48 * 4)
    unit, bench = "region_manager", "adagrain.sim.benches.region_manager.recorded_bench"
    environment = {RECORDING: str(adaptive)}
    assert runner.run(unit, "small", seed=seed, bench=bench, environment=environment).tests == 1


@pytest.mark.usefixtures("simulator")
def test_the_rtl_decides_on_regions_that_are_due(workers: Runs, tmp_path: Path, seed: int) -> None:
    """In some steps none is. Two recordings, in the other of which there are two runs."""
    cadences = {"0": 2, "1": 2, "4": 4, "6": 4}
    every_second, deep = tmp_path / "every_second", tmp_path / "deep"
    runs = (
        {"record": str(every_second), "cadences": cadences, "depth": 2},
        {"record": str(deep), "depth": 2},
    )
    found(workers(*runs, policy="cost_aware", reloaded=6))
    same = recompute(file_of(every_second, 0), seed=seed)
    assert (same.steps, same.epochs, same.decisions) == (12, 3, 6 * 2 + 3 * 2)
    same = recompute(file_of(deep, 0), seed=seed)
    assert (same.steps, same.epochs, same.decisions) == (12, 3, 12 * 4)
    regions = recorded_run(every_second)["regions"]
    assert [*regions] == ["0", "1", "4", "6"]


@pytest.mark.usefixtures("simulator")
def test_a_decision_that_the_rtl_would_not_make_is_found(adaptive: Path, tmp_path: Path) -> None:
    entries = [*read_entries(adaptive)]
    first(entries, Kind.DECIDED, 30)["regions"]["4"]["decision"]["confidence"] ^= 1
    path = write(tmp_path / "changed", entries)
    with pytest.raises(AssertionError, match=r"o\[2\] must be .*'confidence': \d.*; 1 of 4 differ"):
        recompute(path, seed=1)


def test_records_that_do_not_fit_are_refused(adaptive: Path, tmp_path: Path) -> None:
    entries = [*read_entries(adaptive)]
    first(entries, Kind.DECIDED)["regions"]["0"]["update"]["stall"] = 1 << 32
    path = write(tmp_path / "changed", entries)
    with pytest.raises(RecordingError, match=r"line \d+ of .* must fit: .*stall"):
        recompute(path, seed=1)
