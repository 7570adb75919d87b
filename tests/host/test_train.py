"""Whole training runs, from the command line to what they leave behind."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from command_line import call
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from training_runs import SECONDS, STEPS, Run, Train, end, metrics, second_worker, start, wait_for

from adagrain.host.device.open_device import open_device
from adagrain.models.interface.configuration import configuration
from adagrain.sim.simulators import runner
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
def whole(train: Train, runs: Path) -> dict[str, Any]:
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


#: What differs between a run that was resumed and one that was not.
TIMES = ("seconds", "options")


def test_resumed_in_mid_period_equals_uninterrupted(
    train: Train, runs: Path, whole: dict[str, Any]
) -> None:
    """A run that lost everything after a checkpoint ends with the same weights, log and counts."""
    shutil.copytree(runs / "whole", runs / "resumed")
    shutil.rmtree(runs / "resumed" / "checkpoints" / f"step-{STEPS:08d}")
    (runs / "resumed" / "failure.txt").write_text("of the first part")
    with (runs / "resumed" / "metrics.jsonl").open("a") as log:
        log.write('{"step": 40, "lo')
    due = next(line for line in metrics(runs, "whole") if line["step"] == EVERY - 1)["regions"]
    assert len(due) < len(whole["cadences"]), "the checkpoint is in mid-period"
    resumed = train(runs, "resumed", "--resume", *replay(runs))
    assert {k: v for k, v in resumed.items() if k not in TIMES} == {
        k: v for k, v in whole.items() if k not in TIMES
    }
    assert metrics(runs, "resumed") == metrics(runs, "whole")
    assert not (runs / "resumed" / "failure.txt").exists()


def test_a_damaged_checkpoint_is_not_gone_on_from(
    train: Train, runs: Path, whole: dict[str, Any]
) -> None:
    """The one before it is offered, and a run that was finished goes on to more steps."""
    shutil.copytree(runs / "whole", runs / "damaged")
    path = runs / "damaged" / "checkpoints" / f"step-{STEPS:08d}" / "rank0.pt"
    content = bytearray(path.read_bytes())
    content[-5000:-4992] = bytes(8)
    path.write_bytes(content)
    longer = ("--resume", "--steps", "44")
    status, said = call("train", "--name", "damaged", "--runs", str(runs), *longer)
    assert status == 2
    assert f"{path} is damaged" in said
    assert f"--resume --from-step {EVERY} goes on from the one before it" in said
    back = ("--from-step", str(EVERY), "--timing", "fixed")
    resumed = train(runs, "damaged", *longer, *back)
    assert resumed["steps"] == 44
    before = [line for line in metrics(runs, "whole") if line["step"] < EVERY]
    assert [line for line in metrics(runs, "damaged") if line["step"] < EVERY] == before
    assert json.loads((runs / "damaged" / "options.json").read_text())["steps"] == 44


def test_compiled_rtl_decides_like_the_golden_model(
    train: Train, runs: Path, whole: dict[str, Any]
) -> None:
    open_device("sim:").close()  # compiled, which the run's time does not include
    simulated = train(runs, "simulated", "--device", "sim:", *replay(runs))
    assert "Verilator" in simulated["backend"]
    assert simulated["device_cycles"] > 0
    assert simulated["weights_sha256"] == whole["weights_sha256"]
    assert metrics(runs, "simulated") == metrics(runs, "whole")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("--lr", "0.05"), "learning_rate must be 0.1, as run 'whole' was begun with, not 0.05"),
        (("--steps", "39"), "steps must be at least 40, as run 'whole' was begun with, not 39"),
        ((), "run 'whole' has taken its 40 steps; --steps N with more than that lets it go on"),
        (("--from-step", "7"), "from_step must be one of 35, 40, not 7"),
        (("--overwrite",), "--resume must be given without --overwrite"),
        (("--device", "golden:xyz"), "device url must be 'golden:', not 'golden:xyz'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_resuming_what_cannot_be_is_refused_at_once(
    runs: Path, whole: dict[str, Any], arguments: tuple[str, ...], message: str
) -> None:
    before = sorted(runs.joinpath("whole").rglob("*"))
    status, said = call("train", "--name", "whole", "--runs", str(runs), "--resume", *arguments)
    assert status == 2
    assert message in said
    assert sorted(runs.joinpath("whole").rglob("*")) == before


def test_a_run_that_is_under_way_is_left_alone_and_one_that_died_goes_on(runs: Path) -> None:
    """Two runs in one folder, a worker that dies, and what is said of the way on."""
    folder = runs / "killed"
    arguments = ("--preset", "sync", "--steps", "1000000", "--checkpoint-every", "20")
    process = start(runs, "killed", *arguments)
    try:
        wait_for(folder, "checkpoints/step-????????/manifest.json")
        for how in ("--resume", "--overwrite"):
            status, said = call(
                "train", "--name", "killed", "--runs", str(runs), how, "--device", "golden:"
            )
            assert status == 2
            assert (
                f"run 'killed' must not be under way, but process {process.pid} trains it" in said
            )
        victim = second_worker(process.pid)
        os.kill(victim, signal.SIGKILL)
        died = time.monotonic()
        status, _, errors = end(process)
    finally:
        process.kill()
    assert time.monotonic() - died < 60
    assert status == 1
    assert "worker 1 failed, the others were ended: Signal 9 (SIGKILL)" in errors
    newest = sorted((folder / "checkpoints").glob("step-????????"))[-1]
    way_on = f"; adagrain train --resume --name killed --runs {runs} goes on from step "
    assert f"{way_on}{int(newest.name[5:])}\n" in errors
    assert "Traceback" not in errors
    assert len({line["step"] for line in metrics(runs, "killed")}) >= int(newest.name[5:])


@pytest.mark.parametrize(("number", "times"), [(signal.SIGINT, 1), (signal.SIGTERM, 3)], ids=str)
def test_interrupting_leaves_one_line(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, times: int
) -> None:
    """As a terminal does it: all processes get the signal. Nothing temporary stays."""
    name = number.name
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = start(runs, name, "--steps", "1000000", "--checkpoint-every", "5")
    try:
        wait_for(runs / name, "checkpoints/step-????????/manifest.json")
        for _ in range(times):
            send = os.killpg if number is signal.SIGINT else os.kill
            send(process.pid, number)
            time.sleep(0.1)
        status, _, errors = end(process)
    finally:
        process.kill()
    assert status == 128 + number
    way_on = f"adagrain train --resume --name {name} --runs {runs} goes on from step"
    assert errors.startswith(f"error: interrupted by {number.name}; {way_on} ")
    assert errors.count("\n") == 1
    left = {path.name for path in tmp_path.iterdir() if not path.name.startswith("torchinductor_")}
    assert left == set(), "beside the cache of torch's compiler"


def test_a_reader_who_leaves_does_not_end_the_run(runs: Path) -> None:
    """As ``| head -1`` does it."""
    process = start(runs, "pipe", "--workers", "1", "--steps", "8")
    assert process.stdout is not None and process.stderr is not None
    try:
        assert process.stdout.readline().startswith("run pipe: ")
        process.stdout.close()
        assert process.wait(SECONDS) == 0, process.stderr.read()
    finally:
        process.kill()
    assert len(metrics(runs, "pipe")) == 9
    assert (runs / "pipe" / "summary.json").exists()


def test_a_run_that_diverges_says_so(run: Run, runs: Path) -> None:
    wild = ("--workers", "1", "--lr", "50", "--cap", "50", "--warmup", "0")
    ended = run(runs, "wild", *wild)
    assert ended.returncode == 3, ended.stderr
    assert "STATUS" in ended.stdout and "diverged" in ended.stdout
    assert json.loads((runs / "wild" / "summary.json").read_text())["status"] == "diverged"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of its own, of 3 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("making a small disk needs the rights of an administrator")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_named_and_the_run_goes_on_when_there_is_room(
    run: Run, train: Train, small_disk: Path
) -> None:
    arguments = ("--workers", "1", "--steps", "200", "--checkpoint-every", "20")
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(2_300_000))
    ended = run(small_disk, "full", *arguments)
    assert ended.returncode == 1
    failed = r"worker 0 failed, .*/full/\S+ cannot be written: No space left on device"
    assert re.search(failed, ended.stderr), ended.stderr
    assert "goes on from step " in ended.stderr
    assert "Traceback" not in ended.stderr
    ballast.unlink()
    resumed = train(small_disk, "full", "--resume")
    assert resumed["steps"] == 200
    steps = [line["step"] for line in metrics(small_disk, "full") if "loss" in line]
    assert steps == list(range(200))


@pytest.mark.skipif(runner.missing("verilator") is not None, reason="needs Verilator")
def test_a_board_that_is_unplugged_in_training_is_replaced(
    run: Run, train: Train, runs: Path
) -> None:
    arguments = ("--workers", "1", "--batch", "8", "--device-preset", "tiny", "--timing", "fixed")
    wanted = train(runs, "never-plugged", *arguments, narrow=True)
    with ThreadPoolExecutor(1) as pool:
        with VirtualBoard(configuration("tiny")) as board:
            options = (*arguments, "--device", f"serial:{board.port}?reconnect=1")
            running = pool.submit(run, runs, "unplugged", *options, narrow=True)
            wait_for(runs / "unplugged", "metrics.jsonl")
        ended = running.result()
    assert ended.returncode == 0, ended.stderr
    assert "DEVICE FAILED" in ended.stderr
    summary = json.loads((runs / "unplugged" / "summary.json").read_text())
    assert summary["weights_sha256"] == wanted["weights_sha256"]
