"""Recordings in which something was changed: it is found, on all workers."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from recordings import Entry, Runs, first, write

from adagrain.models.interface.recording import Kind, file_of, read_entries

FAILED = "WorkerFailedError: worker 1 failed: "


def changed(recorded: Path, folder: Path, change: Callable[[list[Entry]], None], rank: int) -> Path:
    """A copy of a recording, of which one worker's entries have been changed."""
    for worker in (0, 1):
        entries = [*read_entries(file_of(recorded, worker))]
        if worker == rank:
            change(entries)
        write(file_of(folder, worker), entries)
    return folder


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
