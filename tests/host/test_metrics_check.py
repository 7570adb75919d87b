"""Logs that a run goes on with, and logs that it does not."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from adagrain.host.train.metrics import METRICS
from adagrain.host.train.metrics_check import check_metrics

REGION = {"name": "0", "local": 2.5, "average": 0, "alpha": 1.0, "cadence": 1, "state": "GLOBAL"}
STEP = {"loss": 1.5, "dropped": [], "regions": [REGION]}
MORE = {
    "regions": [
        REGION
        | {
            "sent": {"elements": 9, "nonzeros": 1, "bits": 70},
            "guesses": {"accepts": 1, "trials": 2},
        }
    ],
    "bytes_sent": 9,
    "flown": {"passes_redone": 0, "waited": 0.1, "hidden": 0.2, "stall": 0},
    "precisions": {"bit_operations": 7, "channel_groups": [{"name": "0", "precision": "INT8"}]},
}
EVALUATION = {"step": 2, "accuracy": 0.5}
REMEDY = "restore the file, or begin the run anew with --overwrite"


def logged(folder: Path, lines: list[dict[str, Any] | str]) -> Path:
    path = folder / METRICS
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("".join(f"{text}\n" for text in texts))
    return path


def step(number: int, **changes: Any) -> dict[str, Any]:
    return {"step": number} | STEP | changes


@pytest.mark.parametrize(
    "lines",
    [
        [step(0), step(1), step(2), EVALUATION],
        [step(0), step(1), EVALUATION, step(2)],  # several updates deep
        [step(0), step(1), step(2), step(3), '{"step": 4, "lo'],
        [step(0, **MORE), step(1, loss=None), step(2, loss=float("nan"), regions=[])],
        [step(0), step(1), step(2), step(3, loss="x"), {"step": 4}],  # to be dropped anyway
    ],
)
def test_a_run_goes_on_with_a_line_for_each_step(
    lines: list[dict[str, Any] | str], tmp_path: Path
) -> None:
    check_metrics(logged(tmp_path, lines), 3, told=3)


def test_lines_of_steps_that_are_told_later_are_not_missed(tmp_path: Path) -> None:
    check_metrics(logged(tmp_path, [step(0), EVALUATION]), 3, told=1)
    check_metrics(tmp_path / "none", 2, told=0)


@pytest.mark.parametrize(
    "lines, said",
    [
        ([], "a line for each step until 2, but has none of step 0; "),
        ([step(0), step(2)], "but has none of step 1; "),
        ([step(0), step(1), EVALUATION], "but has none of step 2; "),
        ([step(0), "{", step(2)], "but has none of step 1, and line 2 cannot be read: '{'; "),
        (
            [step(0), '{"step": 1e999}', step(2)],
            "but has none of step 1, and line 2 cannot be read: '{\"step\": 1e999}'; ",
        ),
    ],
)
def test_a_step_without_a_line_is_named(
    lines: list[dict[str, Any] | str], said: str, tmp_path: Path
) -> None:
    path = logged(tmp_path, lines)
    with pytest.raises(ValueError, match=f"{path} must have .*{re.escape(said + REMEDY)}$"):
        check_metrics(path, 3, told=3)


@pytest.mark.parametrize("steps, last", [((0, 1, 1, 2), 1), ((0, 2, 1), 2)])
def test_a_step_that_is_there_twice_or_late_is_named(
    steps: tuple[int, ...], last: int, tmp_path: Path
) -> None:
    path = logged(tmp_path, [*map(step, steps)])
    said = f"line 3 of {path} must be of a step behind {last}, not of 1; {REMEDY}"
    with pytest.raises(ValueError, match=f"^{said}$"):
        check_metrics(path, 3, told=3)


def test_a_log_that_is_gone_is_missed(tmp_path: Path) -> None:
    said = "must be the log of the run, but there is no such file"
    with pytest.raises(ValueError, match=f"^{tmp_path}/none {said}; {REMEDY}$"):
        check_metrics(tmp_path / "none", 3, told=3)


@pytest.mark.parametrize(
    "line",
    [
        {"step": 1},
        {"step": "1"} | STEP,
        {"step": 1, "accuracy": "x"},
        step(1, loss="x"),
        step(1, dropped=None),
        step(1, regions={}),
        step(1, regions=[REGION | {"local": "x"}]),
        step(1, regions=[REGION | {"state": "none"}]),
        step(1, regions=[{"name": "0"}]),
        step(1, regions=[REGION | {"sent": {"elements": 9}}]),
        step(1, bytes_sent="x"),
        step(1, loss=True),
        step(1, flown={"waited": 0.1}),
        step(1, precisions={"bit_operations": 7}),
    ],
    ids=str,
)
def test_a_line_without_what_a_history_needs_is_named(line: dict[str, Any], tmp_path: Path) -> None:
    path = logged(tmp_path, [step(0), line, step(1), step(2)])
    said = f"line 2 of {path} must have the fields of a step or an evaluation, not "
    with pytest.raises(ValueError, match=f"^{said}.*; {REMEDY}$"):
        check_metrics(path, 3, told=3)
