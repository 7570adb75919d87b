"""What the benchmark of speculation makes of the times that it has measured."""

from typing import Any
from unittest.mock import Mock

import _speculation_worker as worker
import pytest
import speculation


def measured(**times: list[float]) -> dict[str, dict[str, Any]]:
    return {way: {"ms": own, "bytes": [9.0, 7.0, 8.0], "facts": {}} for way, own in times.items()}


def test_ratios_are_those_of_each_turn() -> None:
    """A turn in which all ways were slow does not count more than another."""
    found = measured(ddp=[10.0, 40.0, 10.0], never=[11.0, 44.0, 30.0])
    assert speculation.ratio(found, "never", "ddp") == 1.1


def test_the_best_cap_is_that_with_the_least_median() -> None:
    found = measured(**{"ddp": [3.0, 3, 3], "ddp 1": [1.0, 2, 9], "never": [0.0, 0, 0]})
    assert speculation.best_ddp(found) == "ddp 1"
    kept = speculation.figures(found)
    assert kept["best_ddp"] == "ddp 1"
    assert kept["ddp 1"]["ms"] == 2 and kept["ddp 1"]["wire_bytes"] == 8


@pytest.mark.parametrize(("period", "timed", "in_all"), [(1, 12, 16), (4, 12, 16), (16, 16, 32)])
def test_a_turn_times_whole_periods_and_ends_with_nothing_in_flight(
    period: int, timed: int, in_all: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exchange of each sixteenth step, charged to twelve, makes its way a third slower."""
    told, taken = list[dict[str, Any]](), list[str]()
    way = Mock(period=period)
    way.step.side_effect = lambda: taken.append("step")
    way.settle.side_effect = lambda: taken.append("settle")
    way.facts.return_value = {}
    monkeypatch.setattr(worker, "tell", told.append)
    monkeypatch.setattr(worker.dist, "barrier", lambda: None)
    monkeypatch.setattr(worker.time, "perf_counter", lambda: float(len(taken) ** 2))
    worker.turn("way", way, 12)
    assert told[0]["begins"] == in_all and taken == [*["step"] * in_all, "settle"]
    begun, ended = worker.WARM_UP, worker.WARM_UP + timed
    assert told[1]["seconds"] == pytest.approx((ended**2 - begun**2) / timed)


@pytest.mark.parametrize(
    ("ways", "message"),
    [
        (["ddp", "fast"], "ways must be of ddp, ddp 1, ddp 0.25, ddp 0.08, depth 0, never"),
        (["never"], "ways must have one of ddp, ddp 1, ddp 0.25, ddp 0.08"),
    ],
)
def test_ways_that_there_are_not(
    ways: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["speculation.py", "--ways", *ways])
    with pytest.raises(SystemExit) as ended:
        speculation.main()
    assert ended.value.code == 2 and message in capsys.readouterr().err
