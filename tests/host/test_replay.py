"""``adagrain replay``: recorded training runs, run again and shown."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import call
from process_groups import Ended, WorkerServer
from training_runs import SECONDS, Run, Train

from adagrain.host.train.recorded_run import recorded_run, timeline
from adagrain.host.train.recording import RECORDING
from adagrain.models.interface.recording import Kind, RecordingError, file_of, read_entries
from adagrain.sim.benches.region_manager.recorded import recorded_runs
from adagrain.sim.simulators import runner

FORKED = Path(__file__).parent / "forked_run.py"

#: Guesses wherever an update is late, some of which are rejected.
OPTIONS = ("--preset", "speculate", "--speculation-policy", "always", "--tau", "0.6")
ALL = ("--preset", "all", "--density", "0.2")

#: For which the update in flight is waited for, in the replay as well.
CHECKPOINTS = ("--checkpoint-every", "15")

Replay = Callable[..., Ended]


@pytest.fixture(scope="module")
def recorded(train: Train, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a recorded run."""
    runs = tmp_path_factory.mktemp("runs")
    train(runs, "first", *OPTIONS, "--record-run", *CHECKPOINTS, narrow=True)
    return runs / "first"


@pytest.fixture(scope="module")
def replay(server: WorkerServer) -> Replay:
    def run(*arguments: str) -> Ended:
        words = ("--narrow", "replay", *arguments)
        return server.run(FORKED, *words, count=1, timeout=SECONDS)[0]

    return run


@pytest.fixture
def copied(recorded: Path, tmp_path: Path) -> Path:
    """A copy of the run."""
    return Path(shutil.copytree(recorded, tmp_path / "copied"))


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_recorded_run_is_replayed_to_the_bit(recorded: Path, replay: Replay) -> None:
    ended = replay(str(recorded), "--json")
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    summary = json.loads((recorded / "summary.json").read_text())
    again = json.loads((recorded / "replay" / "summary.json").read_text())
    assert found["replay"]["identical"]
    assert found["replay"]["weights_sha256"] == summary["weights_sha256"] == again["weights_sha256"]
    for name in ("guesses", "accepts", "rejects", "passes_redone", "regions"):
        assert again["speculation"][name] == summary["speculation"][name]
    counted = {name: (own["guesses"], own["accepts"]) for name, own in found["regions"].items()}
    assert counted == {
        name: (own["guesses"], own["accepts"])
        for name, own in summary["speculation"]["regions"].items()
    }
    assert "step 40/40" in ended.stderr


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("--depth", "2"), id="several in flight", marks=pytest.mark.full),
        pytest.param(ALL, id="all", marks=pytest.mark.full),
        pytest.param((*ALL, "--depth", "2"), id="all, several in flight"),
    ],
)
def test_others_are_replayed(
    options: tuple[str, ...], train: Train, replay: Replay, tmp_path: Path
) -> None:
    train(tmp_path, "other", *OPTIONS, *options, "--record-run", narrow=True)
    ended = replay(str(tmp_path / "other"))
    assert ended.returncode == 0 and "replay: identical to the bit" in ended.stdout, ended.stderr
    states = recorded_run(tmp_path / "other" / RECORDING)
    assert states["steps"] == 40 and any(own["guesses"] for own in states["regions"].values())


def test_other_weights_at_the_end_are_said(copied: Path, replay: Replay) -> None:
    sha = json.loads((copied / "summary.json").read_text())["weights_sha256"]
    change(copied / "summary.json", sha, "0" * 64)
    ended = replay(str(copied))
    assert ended.returncode == 1
    assert "replay: DIFFERS" in ended.stdout and sha in ended.stdout


def test_a_damaged_summary_is_refused_before_all_is_run_again(copied: Path) -> None:
    (copied / "summary.json").write_text("{}")
    shutil.rmtree(copied / "replay", ignore_errors=True)
    status, said = call("replay", str(copied))
    assert status == 2
    assert f"{copied}/summary.json must be the summary of a run, with steps and weights" in said
    assert "not '{}'; restore it, or record the run again, with --overwrite" in said
    assert not (copied / "replay").exists()


def test_a_recording_alone_can_be_shown_but_not_run_again(recorded: Path) -> None:
    alone = recorded / RECORDING
    status, said = call("replay", str(alone))
    assert status == 2 and "states over the steps" not in said
    assert f"{alone} must be the folder of a run to be run again, not that of a recording" in said
    status, said = call("replay", str(alone), "--show")
    assert status == 0 and "states over the steps" in said


def test_a_recording_without_a_field_of_a_decision_is_not_shown(copied: Path) -> None:
    path = file_of(copied / RECORDING, 0)
    change(path, '"alpha"', '"beta"')
    status, said = call("replay", str(copied), "--show")
    number = [*("beta" in line for line in path.read_text().splitlines())].index(True) + 1
    assert status == 2
    assert f"line {number} of {path} must have the integers region, status, state, " in said
    assert ", in the decision of region '" in said


def test_a_state_that_there_is_not_is_named(copied: Path) -> None:
    path = file_of(copied / RECORDING, 0)
    change(path, '"state": 2', '"state": 7')
    status, said = call("replay", str(copied), "--show")
    assert status == 2
    assert re.search(
        f"line .* of {path} must have one of 0, 1, 2 as the state of region .*not 7", said
    )


def test_a_changed_recording_is_found(copied: Path, replay: Replay) -> None:
    path = file_of(copied / RECORDING, 1)
    entries = [*read_entries(path)]
    bound = next(entry for entry in entries if entry["kind"] == Kind.BOUND)
    bound["to"] = "nothing"
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    ended = replay(str(copied))
    assert ended.returncode == 1
    said = f"ReplayError: step {bound['step']}: to of region {bound['region']!r} must be 'nothing'"
    assert said in ended.stderr


def test_a_run_that_broke_off_is_shown_and_not_replayed(copied: Path) -> None:
    path = file_of(copied / RECORDING, 0)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    status, said = call("replay", str(copied))
    assert status == 2 and "must have an end to be replayed, but breaks off in step 39" in said
    status, said = call("replay", str(copied), "--show")
    assert status == 0 and "40 steps, 2 decision epochs" in said


def test_states_and_guesses_are_shown(recorded: Path) -> None:
    status, said = call("replay", str(recorded), "--show")
    assert status == 0
    assert "2 workers, 40 steps, 2 decision epochs" in said
    found = recorded_run(recorded / RECORDING)
    for name, own in found["regions"].items():
        assert f"{name} │ {'█' * 28} │ {own['guesses']} " in said
        assert own["states"] == [(0, "FULL")]


def test_a_timeline_has_the_last_state_of_each_part() -> None:
    states = [(0, "GLOBAL"), (16, "HYBRID"), (24, "FULL"), (31, "GLOBAL")]
    assert timeline(states, 32, 8) == "····▒▒█·"
    assert timeline(states, 32, 99) == "·" * 16 + "▒" * 8 + "█" * 7 + "·"
    later = [(step + 50, state) for step, state in states]
    assert timeline(later, 32, 8, first=50) == "····▒▒█·"


def test_states_of_a_resumed_recording_are_shown(copied: Path) -> None:
    path = file_of(copied / RECORDING, 0)
    entries = [*read_entries(path)]
    for entry in entries[1:]:
        entry["step"] += 50
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    status, said = call("replay", str(copied), "--show")
    assert status == 0 and "█" * 28 in said


def test_names_are_no_markup(copied: Path) -> None:
    path = file_of(copied / RECORDING, 0)
    name = next(iter(recorded_run(copied / RECORDING)["regions"]))
    path.write_text(path.read_text().replace(f'"{name}"', '"a[/x]"'))
    status, said = call("replay", str(copied), "--show")
    assert status == 0 and "a[/x]" in said


def test_a_header_alone_has_nothing_to_decide_on(copied: Path) -> None:
    path = file_of(copied / RECORDING, 0)
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    with pytest.raises(RecordingError, match=f"{path} must have a run behind its header, but has"):
        recorded_runs(path)


def test_the_rtl_decides_again(copied: Path) -> None:
    if reason := runner.missing("verilator"):
        pytest.skip(reason)
    status, said = call("replay", str(copied), "--show", "--rtl", "--seed", "5")
    assert status == 0
    assert "RTL: 0 mismatches in 80 decisions of 2 decision epochs, 40 steps" in said
    path = file_of(copied / RECORDING, 0)
    entries = [*read_entries(path)]
    (decided, *_) = (entry for entry in entries if entry["kind"] == Kind.DECIDED)
    decided["regions"]["output"]["decision"]["confidence"] ^= 1
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    status, said = call("replay", str(copied), "--show", "--rtl", "--seed", "5")
    assert status == 1 and "RTL: DIFFERS, seed 5" in said


def test_what_cannot_be_replayed_is_refused(
    recorded: Path, train: Train, run: Run, tmp_path: Path
) -> None:
    status, said = call("replay", str(tmp_path / "none"))
    assert status == 2 and "there must be a recording in" in said
    train(tmp_path, "plain", "--preset", "sync", "--steps", "1", narrow=True)
    status, said = call("replay", str(tmp_path / "plain"))
    assert status == 2 and "there must be a recording in" in said
    ended = run(tmp_path, "sync", "--preset", "sync", "--record-run")
    assert ended.returncode == 2 and "record_run" in ended.stderr


def test_a_recorded_run_is_not_resumed(recorded: Path, run: Run) -> None:
    ended = run(recorded.parent, "first", "--resume", "--steps", "50")
    assert ended.returncode == 2
    assert "run 'first' must not be recorded when it is resumed" in ended.stderr


def test_a_run_with_another_number_of_files_is_refused(copied: Path) -> None:
    file_of(copied / RECORDING, 1).unlink()
    status, said = call("replay", str(copied))
    assert status == 2 and "worker-1.jsonl, but there is no such file" in said
    status, said = call("replay", str(copied), "--show")
    assert status == 0 and "2 workers (files of 1 are missing), 40 steps" in said


def test_the_first_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="there must be a recording in"):
        recorded_run(tmp_path)
