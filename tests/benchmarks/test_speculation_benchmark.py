"""What the benchmark of speculation makes of the times that it has measured."""

from typing import Any

import pytest
import speculation
from _link import Link


def measured(**times: list[float]) -> dict[str, dict[str, Any]]:
    return {way: {"ms": own, "bytes": [9.0, 7.0, 8.0], "facts": {}} for way, own in times.items()}


def test_ratios_are_those_of_each_turn() -> None:
    """A turn in which all ways were slow does not count more than another."""
    found = measured(ddp=[10.0, 40.0, 10.0], never=[11.0, 44.0, 30.0])
    assert speculation.ratio(found, "never", "ddp") == 1.1


def test_the_best_cap_is_that_with_the_least_median() -> None:
    found = measured(**{"ddp": [3.0, 3, 3], "ddp 1": [1.0, 2, 9], "never": [0.0, 0, 0]})
    assert speculation.best_ddp(found) == "ddp 1"
    kept = speculation.figures(found, Link(100, 5), 0.5)
    assert kept["best_ddp"] == "ddp 1" and kept["link"] == "100 Mbit/s, 5 ms, 2 workers"
    assert kept["tau"] == 0.5
    assert kept["ddp 1"]["ms"] == 2 and kept["ddp 1"]["wire_bytes"] == 8


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
