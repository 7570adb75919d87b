"""Recordings of speculative runs: replayed to the bit, and refused where they do not fit."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from process_groups import Ended, WorkerServer

from adagrain.host.train.recorded_run import recorded_run
from adagrain.models.interface.recording import (
    FIELDS,
    Kind,
    RecordingError,
    file_of,
    read_entries,
)
from adagrain.sim.benches.region_manager.recomputed import recompute
from adagrain.sim.benches.region_manager.recorded import RECORDING
from adagrain.sim.simulators import runner

WORKER = Path(__file__).parent / "recording_worker.py"
EXAMPLE = Path(__file__).parents[2] / "examples" / "speculative.py"

FAILED = "WorkerFailedError: worker 1 failed: "

Runs = Callable[..., list[Ended]]
Entry = dict[str, Any]


@pytest.fixture(scope="module")
def workers(server: WorkerServer) -> Runs:
    """Runs, one after the other on the same workers."""

    def run(*runs: Entry, count: int = 2, **common: Any) -> list[Ended]:
        arguments = [json.dumps(common | own) for own in runs]
        return server.run(WORKER, *arguments, count=count)

    return run


def found(ended: list[Ended]) -> list[list[Entry]]:
    """What workers have found, by rank, for each run; all have ended well."""
    for worker in ended:
        assert worker.returncode == 0, worker.stderr[-3000:]
    by_rank = [[json.loads(line) for line in own.stdout.splitlines()] for own in ended]
    return [list(ranks) for ranks in zip(*by_rank, strict=True)]


@pytest.fixture(scope="module")
def recorded(workers: Runs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of two workers, with accepted and rejected guesses."""
    folder = tmp_path_factory.mktemp("run") / "recording"
    found(workers({"record": str(folder)}))
    return folder


def changed(recorded: Path, folder: Path, change: Callable[[list[Entry]], None], rank: int) -> Path:
    """A copy of a recording, of which one worker's entries have been changed."""
    for worker in (0, 1):
        entries = [*read_entries(file_of(recorded, worker))]
        if worker == rank:
            change(entries)
        text = "".join(f"{json.dumps(entry)}\n" for entry in entries)
        file_of(folder, worker).write_text(text)
    return folder


def first(entries: list[Entry], kind: Kind, number: int = 0) -> Entry:
    return [entry for entry in entries if entry["kind"] == kind][number]


@pytest.mark.parametrize(
    ("common", "count"),
    [
        ({}, 2),
        ({"clip": 0.05, "optimizer": "AdamW", "looks": 9}, 3),
        ({"passes": 3, "network": "residual", "tau": 0.5}, 2),
        ({"depth": 2, "looks": 12, "optimizer": "AdamW", "tau": 0.4}, 2),
        ({"depth": 3, "looks": 30, "network": "residual", "passes": 2, "tau": 0.5}, 3),
        ({"depth": 2, "looks": 20, "clip": 0.05}, 2),
        ({"cadences": {"0": 2, "4": 4}, "tau": 0.5, "steps": 24}, 2),
        ({"compression": {"density": 0.3, "bypass": "never"}, "tau": 0.7}, 2),
    ],
    ids=str,
)
def test_forced_arrivals_are_replayed(
    common: Entry, count: int, workers: Runs, tmp_path: Path
) -> None:
    """Which arrive at other looks in the replay, if they had their way."""
    once, again, other = found(
        workers(
            {"record": str(tmp_path)},
            *({"replay": str(tmp_path), "looks": 1}, {"looks": 1}),
            count=count,
            **common,
        )
    )
    assert again == once != other
    assert all(0 < own["accepted"] < own["guessed"] for own in once)


@pytest.mark.parametrize(
    ("common", "count"),
    [
        ({}, 2),
        ({"bucket_bytes": None}, 3),
        ({"depth": 2}, 2),
        ({"depth": 4, "bucket_bytes": None}, 3),
        ({"cadences": {"0": 2, "4": 4}, "bucket_bytes": None}, 3),
        ({"compression": {"density": 0.3, "bypass": "never"}}, 2),
    ],
    ids=str,
)
def test_real_arrivals_are_replayed_whatever_the_delays(
    common: Entry, count: int, workers: Runs, tmp_path: Path
) -> None:
    runs = [{"record": str(tmp_path), "jitter": 1}]
    runs += [{"replay": str(tmp_path), "jitter": delays} for delays in (1, 2, 3)]
    once, *others = found(workers(*runs, count=count, steps=24, **common))
    assert all(other == once for other in others)
    assert any(own["guessed"] for own in once)


def test_measured_times_that_decide_are_replayed(workers: Runs, tmp_path: Path) -> None:
    """States follow stall and redo: the replayed workers tell the recorded ones."""
    common = {"policy": "cost_aware", "steps": 40}
    once, again = found(workers({"record": str(tmp_path)}, {"replay": str(tmp_path)}, **common))
    assert again == once
    entries = [*read_entries(file_of(tmp_path, 0))]
    decided = [entry for entry in entries if entry["kind"] == Kind.DECIDED]
    assert all(entry["regions"]["0"]["update"]["stall"] for entry in decided[1:])


@pytest.mark.parametrize("depth", [1, 3])
def test_a_run_that_loads_its_state_is_replayed(depth: int, workers: Runs, tmp_path: Path) -> None:
    """Three deep, there is nothing decided yet on two of the steps that are in it."""
    common = {"depth": depth, "looks": 12, "reloaded": 6, "bucket_bytes": None, "tau": 0.5}
    once, again = found(workers({"record": str(tmp_path)}, {"replay": str(tmp_path)}, **common))
    assert again == once
    entries = [*read_entries(file_of(tmp_path, 0))]
    assert [e["step"] for e in entries if e["kind"] == Kind.STATE] == [0, 6]
    assert [e["step"] for e in entries if e["kind"] == Kind.DECIDED] == [*range(12)]


def test_the_example_is_replayed(server: WorkerServer, tmp_path: Path) -> None:
    said = [
        server.run(EXAMPLE, "--steps", "30", "--tau", "0.7", f"--{what}", str(tmp_path))[0].stdout
        for what in ("record", "replay")
    ]
    assert said[0] == said[1] != ""


def test_a_file_has_the_course_of_its_worker(recorded: Path) -> None:
    for rank in (0, 1):
        entries = [*read_entries(file_of(recorded, rank))]
        assert {entry["kind"] for entry in entries} == {*Kind} - {Kind.PLANNED}
        assert [entry["kind"] for entry in entries[:2]] == [Kind.HEADER, Kind.STATE]
        assert entries[0]["worker"] == rank and entries[-1]["kind"] == Kind.END
        committed = [entry for entry in entries if entry["kind"] == Kind.COMMITTED]
        decided = [entry for entry in entries if entry["kind"] == Kind.DECIDED]
        assert [entry["step"] for entry in committed] == [*range(12)]
        assert [entry["step"] for entry in decided] == [*range(12)]
        assert all(entry.keys() == {"kind", *FIELDS[Kind(entry["kind"])]} for entry in entries)
    zero, one = ([*read_entries(file_of(recorded, rank))] for rank in (0, 1))
    for kind in (Kind.DECIDED, Kind.END, Kind.STATE):
        assert [e for e in zero if e["kind"] == kind] == [e for e in one if e["kind"] == kind]


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
    runs = {"record": str(every_second), "cadences": cadences}, {"record": str(deep), "depth": 2}
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
    path = tmp_path / "changed"
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    with pytest.raises(AssertionError, match=r"o\[2\] must be .*'confidence': \d.*; 1 of 4 differ"):
        recompute(path, seed=1)


def test_records_that_do_not_fit_are_refused(adaptive: Path, tmp_path: Path) -> None:
    entries = [*read_entries(adaptive)]
    first(entries, Kind.DECIDED)["regions"]["0"]["update"]["stall"] = 1 << 32
    path = tmp_path / "changed"
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    with pytest.raises(RecordingError, match=r"line \d+ of .* must fit: .*stall"):
        recompute(path, seed=1)


def verdict(entries: list[Entry]) -> None:
    entry = first(entries, Kind.JUDGED, 5)
    entry["accepted"] = not entry["accepted"]


def integers(entries: list[Entry]) -> None:
    first(entries, Kind.JUDGED, 5)["difference"]["sum_squared"] += 1


def decision(entries: list[Entry]) -> None:
    first(entries, Kind.DECIDED, 3)["regions"]["4"]["decision"]["alpha"] += 1


def stall(entries: list[Entry]) -> None:
    first(entries, Kind.COMMITTED, 3)["stall"] += 5


def binding(entries: list[Entry]) -> None:
    entries.remove(first(entries, Kind.BOUND, 6))


def arrival(entries: list[Entry]) -> None:
    first(entries, Kind.ARRIVED, 1)["regions"] = ["0", "none"]


def weights(entries: list[Entry]) -> None:
    first(entries, Kind.COMMITTED, 4)["weights"] ^= 1


def beginning(entries: list[Entry]) -> None:
    first(entries, Kind.STATE)["weights"] ^= 1


def buckets(entries: list[Entry]) -> None:
    first(entries, Kind.STATE)["buckets"] = [["0", "1"], ["4", "6"]]


def ending(entries: list[Entry]) -> None:
    first(entries, Kind.END)["weights"] = "0" * 64


def cut_off(entries: list[Entry]) -> None:
    del entries[entries.index(first(entries, Kind.COMMITTED, 5)) :]


def longer(entries: list[Entry]) -> None:
    entries.insert(-1, first(entries, Kind.COMMITTED, 11) | {"step": 12})


#: What is changed in the file of worker 1, and what it says of it.
CHANGES = {
    verdict: r"step \d+: accepted of region '\d' must be (True as rec.*False|False as rec.*True)",
    integers: r"step \d+: difference sum_squared of region '\d' must be \d+ as recorded, not \d+",
    decision: r"step 3: decision alpha of region '4' must be \d+ as recorded, not \d+",
    stall: r"step 3: update stall of region '0' must be \d+ as recorded, not \d+",
    binding: r"step \d+: what comes next must be .* as recorded, not bound \(step \d+, pass 0, ca",
    arrival: r"step \d+: updates of regions \['0', 'none'\] must be next as recorded, but",
    weights: r"step 4: weights must be \d+ as recorded, not \d+",
    beginning: r"step 0: weights must be \d+ as recorded, not \d+",
    buckets: r"step 0: buckets must be \[\['0', '1'\], \['4', '6'\]\] as recorded, not \[\['6'\],",
    ending: r"step 12: weights must be '0{64}' as recorded, not '[0-9a-f]{64}'",
    cut_off: r"step 5: the run must end as its recording does, but goes on",
    longer: r"step 12: what comes next must be committed \(step 12\) as recorded, not end \(step",
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_was_changed_in_a_recording_is_found(
    change: Callable[[list[Entry]], None], recorded: Path, workers: Runs, tmp_path: Path
) -> None:
    """By its own worker; and the other one learns of it."""
    replay = changed(recorded, tmp_path, change, rank=1)
    zero, one = workers({"replay": str(replay)})
    assert one.returncode == 1
    said = f"ReplayError: {CHANGES[change]}"
    assert re.search(said, one.error), one.stderr[-3000:]
    if change in (ending, longer):
        assert zero.stdout  # nothing comes any more by which it could be told
    else:
        assert zero.returncode == 1
        assert re.search(said if change is stall else FAILED + said, zero.error), zero.error


@pytest.fixture(scope="module")
def planned(workers: Runs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of two workers that have chosen their buckets, two updates deep."""
    folder = tmp_path_factory.mktemp("planned") / "recording"
    found(workers({"record": str(folder), "bucket_bytes": None, "depth": 2}))
    return folder


def test_a_file_has_the_chosen_buckets(planned: Path) -> None:
    zero, one = ([*read_entries(file_of(planned, rank))] for rank in (0, 1))
    for entries in (zero, one):
        chosen = first(entries, Kind.PLANNED)
        assert chosen["step"] == 3
        assert [name for own in chosen["buckets"] for name in own] == ["6", "4", "1", "0"]
        before = entries[: entries.index(chosen)]
        assert sum(entry["kind"] == Kind.COMMITTED for entry in before) == 3
        decided = [entry for entry in entries if entry["kind"] == Kind.DECIDED]
        assert [entry["step"] for entry in decided] == [*range(12)]
    assert first(zero, Kind.PLANNED) == first(one, Kind.PLANNED)


def other_plan(entries: list[Entry]) -> None:
    is_one = len(first(entries, Kind.PLANNED)["buckets"]) == 1
    first(entries, Kind.PLANNED)["buckets"] = [["6"], ["4", "1", "0"]] if is_one else [[*"6410"]]


def no_plan(entries: list[Entry]) -> None:
    entries.remove(first(entries, Kind.PLANNED))


def wrong_plan(entries: list[Entry]) -> None:
    first(entries, Kind.PLANNED)["buckets"] = [["6", "1"], ["4", "0"]]


def late_plan(entries: list[Entry]) -> None:
    first(entries, Kind.PLANNED)["step"] = 4


#: What is changed in the file of worker 1, or of both, and what is said.
PLANS = {
    other_plan: (1, "ValueError: recorded buckets must be the same on all workers, but"),
    wrong_plan: (1, "RecordingError: chosen buckets must have all regions, from the last"),
    late_plan: (1, r"ReplayError: step 3: what comes next must be planned \(step 4\) as recorded"),
    no_plan: (2, "ReplayError: step 3: buckets must be chosen here, but were not in the recording"),
}


@pytest.mark.parametrize("change", PLANS, ids=lambda change: change.__name__)
def test_chosen_buckets_that_were_changed_are_found_on_all_workers(
    change: Callable[[list[Entry]], None], planned: Path, workers: Runs, tmp_path: Path
) -> None:
    ranks, said = PLANS[change]
    for rank in range(2 - ranks, 2):
        planned = changed(planned, tmp_path, change, rank=rank)
    for worker in workers({"replay": str(tmp_path), "bucket_bytes": None, "depth": 2}):
        assert worker.returncode == 1 and re.search(said, worker.error), worker.stderr[-3000:]


def test_chosen_buckets_are_replayed_whatever_would_be_chosen(
    workers: Runs, tmp_path: Path
) -> None:
    """Weights of three workers depend on the buckets: the replay takes those of the recording."""
    runs = {"record": str(tmp_path), "plan": [3, 1]}, {"replay": str(tmp_path)}, {}
    common = {"bucket_bytes": None, "policy": "never", "plan": [1, 3]}
    once, again, other = found(workers(*runs, count=3, **common))
    assert again == once != other


REFUSED = {
    "other_depth": ({"depth": 2}, "ValueError: depth must be 1 as recorded, not 2"),
    "other_cadences": ({"cadences": {"0": 2}}, "ValueError: cadences must be "),
    "other_bucket_bytes": (
        {"bucket_bytes": None},
        "ValueError: bucket_bytes must be 1 as recorded, not None",
    ),
    "bypass": (
        {"compression": {}},
        "ValueError: bypass of compression must be 'never', 'always', or decisions by number",
    ),
    "other_options": ({"tau": 0.25}, "ValueError: tau must be 1.0 as recorded, not 0.25 ("),
    "other_policy": (
        {"policy": "never"},
        "ValueError: policy must be <SpeculationPolicy.ALWAYS: 3> as recorded, not <Spe",
    ),
    "other_rate": (
        {"rate": 0.06},
        "ValueError: lr of group 0 of SGD must be 0.05 as recorded, n",
    ),
    "other_regions": (
        {"network": "residual"},
        "ValueError: number of regions must be 4 as recorded, not 5",
    ),
    "both": ({"record": "x"}, "ValueError: record must be None where a recording is replayed"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_another_run_is_refused(case: str, recorded: Path, workers: Runs) -> None:
    options, said = REFUSED[case]
    for worker in workers({"replay": str(recorded)} | options):
        assert worker.returncode == 1 and said in worker.error, worker.stderr[-3000:]


def test_another_number_of_workers_is_refused(recorded: Path, workers: Runs) -> None:
    ended = workers({"replay": str(recorded)}, count=3)
    for worker in ended[:2]:
        assert "RecordingError: workers must be 2 as recorded, not 3 (" in worker.error
    said = f"RecordingError: there must be a recording at {file_of(recorded, 2)}, but there is no"
    assert said in ended[2].error


def test_a_recording_is_never_overwritten(recorded: Path, workers: Runs) -> None:
    before = file_of(recorded, 0).read_text()
    said = "FileExistsError: record must be a folder without a recording, but there is"
    for worker in workers({"record": str(recorded)}):
        assert worker.returncode == 1 and said in worker.error, worker.stderr[-3000:]
    assert file_of(recorded, 0).read_text() == before


def test_a_crash_loses_nothing(workers: Runs, tmp_path: Path) -> None:
    """What was recorded before a worker was killed is there, and is replayed as far as it goes."""
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    killed = workers({"record": str(cut), "killed": 7})
    assert all(worker.returncode for worker in killed)
    found(workers({"record": str(whole)}))
    for rank in (0, 1):
        entries, all_of_them = ([*read_entries(file_of(f, rank))] for f in (cut, whole))
        kinds = [(e["kind"], e.get("step")) for e in entries]
        assert (Kind.COMMITTED, 6) in kinds
        assert kinds == [(e["kind"], e.get("step")) for e in all_of_them][: len(kinds)]
    for worker in workers({"replay": str(cut)}):
        assert re.search(
            "step 7: the run must end as its recording does, but goes on", worker.error
        )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must be a recording, but has no header of one"),
        ('{"step": 0}\n', "must be a recording, but has no header of one"),
        ("1\n", "must be a recording, but has no header of one"),
        ('{"format": "adagrain recording", "version": 2}\n', "recording of version 1, not 2"),
        ('{"format": "adagrain recording", "version": 1}\n', "must have the fields format, ver"),
        ("{header}[]\n", r"line 2 of .* must be a JSON object with the fields of its kind, not"),
        ('{header}{"kind": "none"}\n', "line 2 of"),
        ('{header}{"kind": "end", "step": 0}\n', "line 2 of"),
        ('{header}{"kind": "arrived", "step": 0, "look": 0, "regions": 7}\n', "line 2 of"),
    ],
)
def test_a_file_that_is_no_recording_is_refused(
    text: str, said: str, recorded: Path, tmp_path: Path
) -> None:
    header = file_of(recorded, 0).read_text().splitlines(keepends=True)[0]
    path = tmp_path / "file"
    path.write_text(text.replace("{header}", header))
    with pytest.raises(RecordingError, match=said):
        [*read_entries(path)]


def test_a_line_that_was_cut_short_is_left_out(recorded: Path, tmp_path: Path) -> None:
    text = file_of(recorded, 0).read_text()
    path = tmp_path / "file"
    path.write_text(text[:-10])
    assert [*read_entries(path)] == [*read_entries(file_of(recorded, 0))][:-1]
