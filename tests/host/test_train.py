"""Whole training runs, from the command line to what they leave behind."""

import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from training_runs import SECONDS, STEPS, end, metrics, start, train

from adagrain.models.configuration import configuration
from adagrain.sim import runner
from adagrain.sim.virtual_board import VirtualBoard

#: Cadences have grown by then, and it is in mid-period of all but 1.
EVERY = 35


def replay(runs: Path) -> tuple[str, str]:
    """Options that give a run the times of the whole one."""
    return "--timing", f"replay:{runs / 'whole' / 'metrics.jsonl'}"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def whole(runs: Path) -> dict[str, Any]:
    """A run from beginning to end, with measured times and checkpoints."""
    return train(runs, "whole", "--checkpoint-every", str(EVERY))


def test_summary(whole: dict[str, Any]) -> None:
    assert whole["steps"] == STEPS
    assert whole["workers"] == 2
    assert whole["backend"].startswith("golden")
    assert whole["accuracy"] > 0.5
    assert whole["bytes_dense"] == 4 * (64 * 128 + 128 + 128 * 64 + 64 + 64 * 10 + 10) * STEPS
    assert 0.25 < whole["bytes_sent"] / whole["bytes_dense"] < 1, "cadences have grown"
    assert set(whole["cadences"]) == {"hidden1", "hidden2", "output"}
    assert max(whole["cadences"].values()) > 1
    assert len(whole["weights_sha256"]) == 64
    assert whole["fallbacks"] == 0
    assert whole["seconds"] > 0


def test_log(runs: Path, whole: dict[str, Any]) -> None:
    lines = metrics(runs, "whole")
    steps = [line for line in lines if "loss" in line]
    assert [line["step"] for line in steps] == list(range(STEPS))
    assert [line["step"] for line in lines if "accuracy" in line] == [20, STEPS - 1]
    assert steps[-1]["loss"] < steps[0]["loss"] / 2
    assert all(line["redo"] > 0 for line in steps), "times were measured"
    decided = sum(len(line["regions"]) for line in steps)
    assert whole["decisions"] == 2 * decided, "each worker's device decides for each region"
    assert all(row["update"]["a"] > 0 for line in steps for row in line["regions"])


def test_events_and_picture(runs: Path, whole: dict[str, Any]) -> None:
    events = EventAccumulator(str(runs / "whole" / "events"))
    events.Reload()
    assert [event.step for event in events.Scalars("loss")] == list(range(STEPS))
    assert "cadence/hidden1" in events.Tags()["scalars"]
    assert (runs / "whole" / "regions.png").stat().st_size > 20_000


def test_resumed_in_mid_period_equals_uninterrupted(runs: Path, whole: dict[str, Any]) -> None:
    """A run that lost everything after a checkpoint ends with the same weights and log."""
    shutil.copytree(runs / "whole", runs / "resumed")
    shutil.rmtree(runs / "resumed" / "checkpoints" / f"step-{STEPS:08d}")
    due = next(line for line in metrics(runs, "whole") if line["step"] == EVERY - 1)["regions"]
    assert len(due) < len(whole["cadences"]), "the checkpoint is in mid-period"
    resumed = train(runs, "resumed", "--resume", "--checkpoint-every", str(EVERY), *replay(runs))
    same = ("weights_sha256", "accuracy", "bytes_sent", "bytes_dense", "cadences", "steps")
    assert {k: resumed[k] for k in same} == {k: whole[k] for k in same}
    assert metrics(runs, "resumed") == metrics(runs, "whole")


def test_compiled_rtl_decides_like_the_golden_model(runs: Path, whole: dict[str, Any]) -> None:
    simulated = train(runs, "simulated", "--device", "sim:", *replay(runs))
    assert "Verilator" in simulated["backend"]
    assert simulated["device_cycles"] > 0
    assert simulated["weights_sha256"] == whole["weights_sha256"]
    assert metrics(runs, "simulated") == metrics(runs, "whole")


def test_checkpoint_of_other_options_is_refused(runs: Path, whole: dict[str, Any]) -> None:
    status, _, errors = end(start(runs, "whole", "--resume", "--lr", "0.05"))
    assert status == 1
    assert "was written with learning_rate 0.1; this run has 0.05" in errors
    assert "Traceback" not in errors
    assert "CheckpointError" in (runs / "whole" / "failure.txt").read_text()


def test_worker_that_dies_ends_the_run(runs: Path) -> None:
    arguments = ("--preset", "sync", "--steps", "1000000", "--checkpoint-every", "1000")
    process = start(runs, "killed", *arguments)
    try:
        victim = _second_worker(process.pid, runs / "killed" / "metrics.jsonl")
        os.kill(victim, signal.SIGKILL)
        died = time.monotonic()
        status, _, errors = end(process)
    finally:
        process.kill()
    assert time.monotonic() - died < 60
    assert status == 1
    assert "worker 1 failed, the others were ended: Signal 9 (SIGKILL)" in errors
    assert "--resume goes on from the newest checkpoint" in errors
    assert "Traceback" not in errors


def _second_worker(launcher: int, log: Path) -> int:
    """Process id of rank 1, as soon as the workers have trained some steps."""
    deadline = time.monotonic() + SECONDS
    while not (log.exists() and log.stat().st_size > 0):
        assert time.monotonic() < deadline, "the run did not start"
        time.sleep(0.1)
    children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    workers = [c for c in children if "spawn_main" in Path(f"/proc/{c}/cmdline").read_text()]
    return int(workers[1])


@pytest.mark.skipif(runner.missing("verilator") is not None, reason="needs Verilator")
def test_a_board_that_is_unplugged_in_training_is_replaced(runs: Path) -> None:
    arguments = ("--workers", "1", "--steps", "10", "--batch", "8", "--device-preset", "tiny")
    wanted = train(runs, "never-plugged", *arguments, "--timing", "fixed")
    with VirtualBoard(configuration("tiny")) as board:
        device = f"serial:{board.port}?reconnect=1"
        process = start(runs, "unplugged", *arguments, "--timing", "fixed", "--device", device)
        log = runs / "unplugged" / "metrics.jsonl"
        deadline = time.monotonic() + SECONDS
        while not (log.exists() and log.read_text()) and time.monotonic() < deadline:
            time.sleep(0.1)
    status, _, errors = end(process)
    assert status == 0, errors
    assert "DEVICE FAILED" in errors
    summary = json.loads((runs / "unplugged" / "summary.json").read_text())
    assert summary["weights_sha256"] == wanted["weights_sha256"]
