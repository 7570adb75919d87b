"""A run's log on disks that are full, or were."""

import json
import logging
from pathlib import Path

import pytest

from adagrain.host.files import WriteError, replace_text
from adagrain.host.json_lines import read_json_lines
from adagrain.host.telemetry.events import EvaluationEvent
from adagrain.host.train.metrics import METRICS, Metrics

LINES = [json.dumps({"step": step, "loss": 1.0}) for step in range(6)]


@pytest.mark.parametrize("cut", [1, 10, len(LINES[5]) - 1])
def test_a_last_line_that_was_cut_is_dropped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, cut: int
) -> None:
    path = tmp_path / METRICS
    path.write_text("\n".join([*LINES[:5], LINES[5][:cut]]))
    assert len(read_json_lines(path)) == 5
    with Metrics(tmp_path, 4, 4, workers=1) as log:
        log.evaluation(EvaluationEvent(4, 0.5))
    assert path.read_text().splitlines() == [*LINES[:4], '{"step": 4, "accuracy": 0.5}']
    assert caplog.messages == [f"{path}: 1 lines could not be read, and were dropped"]


def test_lines_of_later_steps_are_dropped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    (tmp_path / METRICS).write_text("".join(f"{line}\n" for line in LINES))
    with Metrics(tmp_path, 3, 3, workers=1):
        pass
    assert (tmp_path / METRICS).read_text() == "".join(f"{line}\n" for line in LINES[:3])
    assert not caplog.messages


def test_other_lines_that_are_no_json_are_named(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(f"{LINES[0]}\n{{\n{LINES[1]}\n")
    with pytest.raises(ValueError, match=r"line 2 of .*/log must be a JSON object, not '{'"):
        read_json_lines(tmp_path / "log")


@pytest.mark.parametrize("steps", [1, 10_000])
def test_a_full_disk_is_named(tmp_path: Path, steps: int) -> None:
    log = Metrics(tmp_path, workers=1)
    log._file = Path("/dev/full").open("a")  # noqa: SIM115 - the log closes it
    with pytest.raises(WriteError, match=f"{METRICS} cannot be written: No space left on device"):
        for step in range(steps):
            log.evaluation(EvaluationEvent(step, 0.5))
        log.flush()
    with pytest.raises(ZeroDivisionError), log:  # and not the error of closing the file
        raise ZeroDivisionError


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_text(path, "one")
    with pytest.raises(WriteError, match=f"{tmp_path}/none/file cannot be written: No such file"):
        replace_text(tmp_path / "none" / "file", "two")
    (tmp_path / "file.tmp").symlink_to("/dev/full")
    with pytest.raises(WriteError, match=f"{path} cannot be written: No space left on device"):
        replace_text(path, "two")
    assert path.read_text() == "one"
    assert [*tmp_path.iterdir()] == [path]
