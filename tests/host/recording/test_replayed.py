"""Recordings of speculative runs, replayed to the bit."""

from pathlib import Path

import pytest
from process_groups import WorkerServer
from recordings import Entry, Runs, found

from adagrain.models.interface.recording import Kind, file_of, read_entries

COMPRESSED = {"density": 0.3, "bypass": "never"}

EXAMPLE = Path(__file__).parents[3] / "examples" / "speculative.py"


@pytest.mark.parametrize(
    ("common", "count"),
    [
        ({}, 2),
        pytest.param({"clip": 0.05, "optimizer": "AdamW", "looks": 9}, 3, marks=pytest.mark.full),
        pytest.param({"passes": 3, "network": "residual", "tau": 0.5}, 2, marks=pytest.mark.full),
        ({"depth": 2, "looks": 12, "optimizer": "AdamW", "tau": 0.4}, 2),
        ({"depth": 3, "looks": 30, "network": "residual", "passes": 2, "tau": 0.5}, 3),
        pytest.param({"depth": 2, "looks": 20, "clip": 0.05}, 2, marks=pytest.mark.full),
        pytest.param(
            {"cadences": {"0": 2, "4": 4}, "tau": 0.5, "steps": 24}, 2, marks=pytest.mark.full
        ),
        ({"depth": 2, "cadences": {"0": 2, "4": 4}, "tau": 0.5, "looks": 12, "steps": 24}, 3),
        ({"compression": COMPRESSED, "tau": 0.7}, 2),
        ({"compression": COMPRESSED, "depth": 2, "tau": 1.0, "looks": 12, "steps": 24}, 3),
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
        pytest.param({"depth": 2}, 2, marks=pytest.mark.full),
        ({"depth": 4, "bucket_bytes": None}, 3),
        pytest.param(
            {"cadences": {"0": 2, "4": 4}, "bucket_bytes": None}, 3, marks=pytest.mark.full
        ),
        pytest.param(
            {"depth": 3, "cadences": {"0": 2, "4": 4}, "clip": 0.05}, 2, marks=pytest.mark.full
        ),
        ({"compression": COMPRESSED}, 2),
        ({"compression": COMPRESSED, "depth": 3, "cadences": {"0": 2, "4": 4}}, 2),
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
    assert any(own["guessed_steps"] for own in once)


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


def test_chosen_buckets_are_replayed_whatever_would_be_chosen(
    workers: Runs, tmp_path: Path
) -> None:
    """Weights of three workers depend on the buckets: the replay takes those of the recording."""
    runs = {"record": str(tmp_path), "plan": [3, 1]}, {"replay": str(tmp_path)}, {}
    common = {"bucket_bytes": None, "policy": "never", "plan": [1, 3]}
    once, again, other = found(workers(*runs, count=3, **common))
    assert again == once != other


def test_the_example_is_replayed(server: WorkerServer, tmp_path: Path) -> None:
    said = [
        server.run(EXAMPLE, "--steps", "30", "--tau", "0.7", f"--{what}", str(tmp_path))[0].stdout
        for what in ("record", "replay")
    ]
    assert said[0] == said[1] != ""
