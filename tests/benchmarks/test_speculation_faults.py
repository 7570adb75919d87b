"""Speculation in the network lab, whose workers are killed, stopped and cut off."""

from pathlib import Path
from typing import Any

import pytest
from _faulty_run import Fault, Outcome, run
from _lab import lab
from _link import Link, reason_against
from speculation_faults import compared

REASON = reason_against()

needs_lab = pytest.mark.skipif(REASON is not None, reason=str(REASON))

JOB: dict[str, Any] = {"steps": 60, "pace": 0.0, "every": 10, "time_out": 8.0}


def notes(*entries: tuple[float, str, Any]) -> list[dict[str, Any]]:
    return [{"time": time, "process": 1, name: value} for time, name, value in entries]


def outcome(faults: list[Fault], *workers: list[dict[str, Any]]) -> Outcome:
    return Outcome([*workers], faults, 30.0)


def test_what_is_found_in_notes() -> None:
    steps = [(float(n), "step", n) for n in range(1, 5)]
    ended = (9.0, "weights", "a")
    undisturbed = outcome([], *[notes((0, "first", 0), *steps, ended)] * 2)
    faults = [Fault("killed", 1, 2.5), Fault("cut", 0, 12.5)]
    again = [(10.0, "first", 1), *((9.0 + n, "step", n) for n in (2, 3)), (14.5, "step", 4)]
    stopped = notes((0, "first", 0), *steps[:2], (4.0, "failed", "why"), *again, (15.0, *ended[1:]))
    killed = notes((0, "first", 0), *steps[:2], *again, (15.0, *ended[1:]))
    found = compared(undisturbed, outcome(faults, stopped, killed), steps=4, time_out=2)
    assert found["faults"] == {"cut": 1, "killed": 1} and found["attempts"] == 2
    assert found["steps_kept_percent"] == 80.0
    assert found["pause_seconds_most"] == {"cut": 2.0, "killed": 8.5}
    assert found["failures"] == 1 and found["failed_after_seconds_most"] == 1.5
    assert found["in_time"] and found["weights_equal"]
    other = notes(*steps, (15.0, "weights", "b"), (19.6, "failed", "late"))
    found = compared(undisturbed, outcome(faults, other, killed), steps=4, time_out=2)
    assert not found["in_time"] and not found["weights_equal"]


@needs_lab
@pytest.mark.full  # tests/host/test_speculation_restarts.py kills workers without the lab
@pytest.mark.parametrize("faults", [1, 8])
def test_a_run_in_the_lab_ends_with_the_weights_of_one_without_faults(
    faults: int, tmp_path: Path
) -> None:
    outcomes = []
    with lab(Link(rate=100, delay=5), checked=False) as made:
        for most in (0, faults):
            (folder := tmp_path / str(most)).mkdir()
            job = JOB | {"steps": 60 * faults, "pace": 0.02}
            outcomes.append(run(made, folder, job, interval=1.0, faults=most))
    found = compared(*outcomes, steps=60 * faults, time_out=JOB["time_out"])
    assert found["weights_equal"] and found["in_time"], found
    assert sum(found["faults"].values()) == faults, found
    assert found["attempts"] > 1
