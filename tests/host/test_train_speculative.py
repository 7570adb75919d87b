"""Speculative training runs, from the command line."""

import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from training_runs import (
    STEPS,
    Run,
    Train,
    end,
    metrics,
    repeatable,
    second_worker,
    start,
    wait_for,
)

from adagrain.host.device.open_device import open_device
from adagrain.sim.simulators import runner

#: Between the ends of decision epochs, and of passes over the data.
EVERY = 19

#: Guesses wherever an update is late, and none of them is good enough.
REJECTS = ("--preset", "speculate", "--speculation-policy", "always", "--tau", "0")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def whole(train: Train, runs: Path) -> dict[str, Any]:
    """A run whose updates are all waited for."""
    options = ("--preset", "speculate", "--depth", "0", "--timing", "fixed")
    return train(runs, "whole", *options, "--checkpoint-every", str(EVERY))


@pytest.fixture(scope="module")
def late(train: Train, runs: Path) -> dict[str, Any]:
    """One whose guesses are all rejected, in each step."""
    return train(runs, "late", *REJECTS, "--checkpoint-every", str(EVERY), late=True)


def test_without_guesses_all_is_as_in_a_run_that_waits(
    train: Train, runs: Path, whole: dict[str, Any], late: dict[str, Any]
) -> None:
    """Losses, bytes, accuracy, and weights to the last bit."""
    plain = train(runs, "plain", "--preset", "sync", "--timing", "fixed")
    for name in ("weights_sha256", "accuracy", "bytes_sent", "bytes_dense", "cadences", "steps"):
        assert whole[name] == late[name] == plain[name], name
    for name in ("whole", "late"):
        assert [
            (line["step"], line.get("loss"), line.get("accuracy")) for line in metrics(runs, name)
        ] == [
            (line["step"], line.get("loss"), line.get("accuracy"))
            for line in metrics(runs, "plain")
        ]
    assert "speculation" not in plain


def test_summary(runs: Path, whole: dict[str, Any], late: dict[str, Any]) -> None:
    waited, found = whole["speculation"], late["speculation"]
    assert waited["guesses"] == waited["accepts"] == waited["rejects"] == 0
    assert waited["passes_redone"] == 0
    assert waited["waited"] > 0
    assert found["hidden"] > 0
    first = STEPS - 1 - 2 - 1  # nothing is in flight behind a checkpoint, and an accuracy
    assert list(found["regions"]) == list(late["cadences"])
    for name, own in found["regions"].items():
        assert own["state"] == "FULL", name
        assert own["states"] == {"GLOBAL": 1 / STEPS, "HYBRID": 0, "FULL": 1 - 1 / STEPS}
        guesses = first + first + 1  # the second worker measures no accuracy
        assert (own["accepts"], own["guesses"], own["rejects"]) == (0, guesses, guesses)
    assert found["passes_redone"] == first
    lines = [line for line in metrics(runs, "late") if "loss" in line]
    assert found["guesses"] == sum(
        row["guesses"]["trials"] for line in lines for row in line["regions"]
    )
    for name in ("passes_redone", "hidden", "waited", "stall"):
        assert found[name] == pytest.approx(sum(line["flown"][name] for line in lines)), name
    assert late["options"]["speculation_policy"] == "always"
    assert (runs / "late" / "regions.png").stat().st_size > 20_000


@pytest.mark.parametrize("name", ["whole", "late"])
def test_resumed_equals_uninterrupted(
    train: Train, runs: Path, whole: dict[str, Any], late: dict[str, Any], name: str
) -> None:
    begun, again = {"whole": whole, "late": late}[name], f"{name} resumed"
    shutil.copytree(runs / name, runs / again)
    shutil.rmtree(runs / again / "checkpoints" / f"step-{STEPS:08d}")
    resumed = train(runs, again, "--resume")
    for key in ("weights_sha256", "accuracy", "bytes_sent", "bytes_dense", "steps"):
        assert resumed[key] == begun[key], key
    steps = [line["step"] for line in metrics(runs, again) if "loss" in line]
    assert steps == [*range(STEPS)]
    if name == "whole":
        assert repeatable(runs, again) == repeatable(runs, name)


def test_the_summary_has_the_steps_that_are_decided_on_last(train: Train, runs: Path) -> None:
    """Also where there are no others: fewer than may be in flight."""
    found = train(runs, "short", "--preset", "speculate", "--depth", "3", "--steps", "2")
    lines = [line for line in metrics(runs, "short") if "loss" in line]
    assert [line["step"] for line in lines] == [0, 1]
    waited = sum(line["flown"]["waited"] for line in lines)
    assert found["speculation"]["waited"] == pytest.approx(waited)
    assert [*found["speculation"]["regions"]] == [*found["cadences"]]


@pytest.mark.skipif(
    runner.missing("verilator") is not None, reason=str(runner.missing("verilator"))
)
def test_compiled_rtl_takes_part(train: Train, runs: Path) -> None:
    """It compares guesses, and decides as the golden model does."""
    options = ("--preset", "speculate", "--depth", "0", "--timing", "fixed", "--steps", "5")
    golden = train(runs, "golden", *options)
    open_device("sim:").close()  # compiled, which the run's time does not include
    coded = train(runs, "coded", *options, "--device", "sim:")
    assert coded["backend"].startswith("RTL, compiled by Verilator")
    assert coded["weights_sha256"] == golden["weights_sha256"]
    assert repeatable(runs, "coded") == repeatable(runs, "golden")
    guessed = train(runs, "guessed", *REJECTS, "--steps", "5", "--device", "sim:")
    assert guessed["weights_sha256"] == golden["weights_sha256"]
    assert guessed["fallbacks"] == 0 < coded["device_cycles"]


@pytest.mark.full
def test_a_worker_that_dies_ends_the_run(runs: Path) -> None:
    folder = runs / "killed"
    process = start(runs, "killed", *REJECTS, "--steps", "1000000", "--checkpoint-every", "20")
    try:
        wait_for(folder, "checkpoints/step-????????/manifest.json")
        os.kill(second_worker(process.pid), signal.SIGKILL)
        died = time.monotonic()
        status, _, errors = end(process)
    finally:
        process.kill()
    assert time.monotonic() - died < 60
    assert status == 1
    assert "worker 1 failed, the others were ended: Signal 9 (SIGKILL)" in errors
    assert f"; adagrain train --resume --name killed --runs {runs} goes on from step " in errors
    assert "Traceback" not in errors


def test_a_transformer_is_trained_on_a_text(run: Run, runs: Path) -> None:
    """A weight of it is used outside of modules' calls, which is said once, by one worker."""
    small = ("--data", "text", "--batch", "2", "--steps", "4")
    ended = run(runs, "text", *REJECTS, *small)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("parameters are used outside of modules' calls ('places.weight')") < 2
    assert "states and guesses" in ended.stdout


def test_three_workers(train: Train, runs: Path) -> None:
    few = ("--workers", "3", "--steps", "12", "--batch", "8", "--bucket-bytes", "4096")
    waiting = train(runs, "three wait", "--preset", "speculate", "--depth", "0", *few)
    assert train(runs, "three", *REJECTS, *few)["weights_sha256"] == waiting["weights_sha256"]
