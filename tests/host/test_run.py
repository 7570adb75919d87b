"""Begin and resume of a run, up to where its workers would start."""

import errno
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adagrain.host.train import run
from adagrain.host.train.checkpoint import CHECKPOINTS, CheckpointError
from adagrain.host.train.folder import PICTURE, SUMMARY, begun
from adagrain.host.train.launch import FAILURE, _reason, _way_on
from adagrain.host.train.metrics import METRICS
from adagrain.host.train.options import TrainingOptions
from adagrain.host.train.run_status import RunStatus

#: What the log has of a step in which no region was due.
EMPTY: dict[str, Any] = {"loss": 1.0, "dropped": [], "regions": []}


@pytest.fixture
def options(tmp_path: Path) -> TrainingOptions:
    return TrainingOptions(name="run", runs=tmp_path, device="golden:", steps=20)


@pytest.fixture(autouse=True)
def launched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[TrainingOptions]]:
    """The options that workers would have been started with."""
    launches: list[TrainingOptions] = []

    def launch(options: TrainingOptions, checkpoint: Path | None = None) -> RunStatus:
        launches.append(options)
        return RunStatus.FINISHED

    monkeypatch.setattr(run, "launch", launch)
    return launches


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel that has been compiled before."""
    kept = tmp_path / "kernels" / "deeper"
    kept.mkdir(parents=True)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(kept.parent))
    (kept / "one.nbi").touch()
    return kept / "one.nbi"


def test_people_are_told_what_is_begun(
    options: TrainingOptions, launched: list[TrainingOptions], kernels: Path
) -> None:
    said: list[str] = []
    assert run.start(options, say=said.append) is RunStatus.FINISHED
    assert said == ["run run: digits, 2 workers, 20 steps, a device golden: beside each"]
    assert launched == [options]


def test_people_are_told_that_kernels_are_compiled(options: TrainingOptions, kernels: Path) -> None:
    kernels.unlink()
    said: list[str] = []
    run._announce(options, "20 steps", said.append)
    assert len(said) == 2 and "kernels are compiled in the first steps, once" in said[1]


def test_people_are_told_that_a_serial_line_is_slow(
    options: TrainingOptions, kernels: Path
) -> None:
    said: list[str] = []
    run._announce(replace(options, device="virtual:nowhere"), "20 steps", said.append)
    assert len(said) == 2 and "slow" in said[1]


def test_a_run_that_cannot_be_announced_is_not_begun(
    options: TrainingOptions, launched: list[TrainingOptions]
) -> None:
    """Standard output is a file on a full disk, say."""

    def full(text: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left on device"):
        run.start(options, say=full)
    assert not options.folder.exists() and not launched
    run.start(options)
    (options.folder / "precious").touch()
    with pytest.raises(OSError, match="No space left on device"):
        run.start(options, overwrite=True, say=full)
    assert (options.folder / "precious").exists() and launched == [options]


def test_what_exists_is_refused_before_all_else(
    options: TrainingOptions, launched: list[TrainingOptions]
) -> None:
    """Not after minutes of reading data; here they could not even be read."""
    run.start(options)
    wrong = replace(options, data="cifar10:/nowhere")
    with pytest.raises(FileExistsError, match="choose another --name"):
        run.start(wrong)
    with pytest.raises(OSError, match="/nowhere"):
        run.start(wrong, overwrite=True)
    assert launched == [options]


def test_a_run_without_a_checkpoint_is_not_resumed(options: TrainingOptions) -> None:
    run.start(options)
    with pytest.raises(CheckpointError):
        run.resume(options.folder, {})


@pytest.mark.parametrize(
    "step, taken, refused",
    [
        (20, 20, True),
        (20, None, False),  # ended, but by what came between the last step and the summary
        (10, 20, False),  # goes back
        (20, 10, False),  # was extended since, and stopped at its new last step
    ],
)
def test_a_run_at_its_end_is_refused(
    options: TrainingOptions, step: int, taken: int | None, refused: bool
) -> None:
    with begun(options):
        if taken is not None:
            (options.folder / SUMMARY).write_text(
                json.dumps({"steps": taken, "weights_sha256": "0"})
            )
    if not refused:
        run._check_unfinished(options, step)
        return
    with pytest.raises(ValueError, match="run 'run' has taken its 20 steps; --steps N with more"):
        run._check_unfinished(options, step)


def test_a_way_on_is_told_only_where_there_is_one(options: TrainingOptions) -> None:
    checkpoint = options.folder / CHECKPOINTS / "step-00000010"
    checkpoint.mkdir(parents=True)
    (checkpoint / "manifest.json").touch()
    command = f"; adagrain train --resume --name run --runs {options.runs}"
    assert _way_on(options, None) == f"{command} goes on from step 10"
    recorded = TrainingOptions(
        name="run", runs=options.runs, device="golden:", preset="speculate", record_run=True
    )
    assert _way_on(recorded, None) == f"{command} --no-record-run goes on from step 10"
    assert _way_on(replace(recorded, record_run=False, replay="recording"), None) == ""


def test_a_replay_is_not_resumed(options: TrainingOptions) -> None:
    replayed = TrainingOptions(
        name="run", runs=options.runs, device="golden:", preset="speculate", replay="recording"
    )
    with begun(replayed):
        pass
    with pytest.raises(ValueError, match="run 'run' must not be a replay when it is resumed"):
        run.resume(replayed.folder, {})


def test_a_run_that_goes_on_has_no_result_yet(
    options: TrainingOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    with begun(options):
        (options.folder / SUMMARY).write_text(json.dumps({"steps": 10, "weights_sha256": "0"}))
        (options.folder / PICTURE).touch()
    checkpoint = options.folder / CHECKPOINTS / "step-00000010"
    monkeypatch.setattr(run, "choose", lambda *_: checkpoint)
    monkeypatch.setattr(run, "_check_log", lambda *_: None)
    run.resume(options.folder, {"steps": 30})
    assert not {SUMMARY, PICTURE} & {path.name for path in options.folder.iterdir()}


@pytest.mark.parametrize(
    "text", ["{}", "{", "[]", '{"steps": "20", "weights_sha256": "0"}', '{"steps": 20}', "\xff"]
)
def test_a_damaged_summary_is_named_with_its_remedy(options: TrainingOptions, text: str) -> None:
    path = options.folder / SUMMARY
    with begun(options):
        path.write_text(text, encoding="latin-1")
    said = f"{path} must be the summary of a run, with steps and weights_sha256, not .*; restore it"
    with pytest.raises(ValueError, match=f"{said}, or remove it, and --resume makes it anew"):
        run._check_unfinished(options, options.steps)


@pytest.mark.parametrize(
    "changes, logged",
    [
        ({"preset": "sync"}, 9),
        ({"preset": "speculate"}, 9),
        ({"preset": "speculate", "depth": 0}, 9),
        ({"preset": "speculate", "depth": 3}, 7),
        ({"preset": "all", "depth": 3}, 7),
    ],
    ids=str,
)
def test_a_run_is_refused_whose_log_lacks_a_step(
    options: TrainingOptions,
    launched: list[TrainingOptions],
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    logged: int,
) -> None:
    """It is resumed from step 10; the last step that must be logged is given."""
    options = TrainingOptions(name="run", runs=options.runs, device="golden:", **changes)
    checkpoint = options.folder / CHECKPOINTS / "step-00000010"
    aside = options.folder / CHECKPOINTS / "step-00000015"
    monkeypatch.setattr(run, "choose", lambda *_: checkpoint)
    with begun(options):
        aside.mkdir(parents=True)
        (aside / "manifest.json").touch()
    before = sorted(options.folder.rglob("*"))
    with pytest.raises(ValueError, match=f"{METRICS} must be the log of the run, but there is no"):
        run.resume(options.folder, {}, from_step=10)
    assert sorted(options.folder.rglob("*")) == before and not launched
    log = options.folder / METRICS
    lines = [json.dumps({"step": step, **EMPTY}) + "\n" for step in range(logged + 1)]
    log.write_text("".join(lines[:-1]))
    with pytest.raises(ValueError, match=f"but has none of step {logged}; restore the file, or"):
        run.resume(options.folder, {}, from_step=10)
    assert aside.exists() and not launched
    log.write_text("".join(lines))
    run.resume(options.folder, {}, from_step=10)
    assert len(launched) == 1 and not aside.exists()


def test_a_worker_s_traceback_is_kept_whole(options: TrainingOptions) -> None:
    failure = {"message": "ValueError: no", "extraInfo": {"py_callstack": "Traceback\n  here\n"}}
    with begun(options):
        path = options.folder / FAILURE
        assert _reason(options, failure) == f"ValueError: no (see {path})"
        assert path.read_text() == "Traceback\n  here\n"
        assert _reason(options, "Signal 9 (SIGKILL) received") == "Signal 9 (SIGKILL) received"


def test_a_traceback_that_cannot_be_kept(options: TrainingOptions) -> None:
    """The folder is gone, say."""
    assert _reason(options, {"message": "ValueError: no"}) == "ValueError: no"
    assert not (options.folder / CHECKPOINTS).exists()
