"""What benchmarks keep of their figures, and what they leave as it is."""

import json
from pathlib import Path

import _report
import pytest
import torch
from _report import check_replaces, recorded, report


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where records are, while a test runs."""
    monkeypatch.setattr(_report, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def test_a_whole_run_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    report("trial", {"rounds": 3, "ratio": 0.5})
    assert recorded("trial") == {"rounds": 3, "ratio": 0.5}
    assert "nothing was kept" not in capsys.readouterr().out


def test_a_record_says_where_it_was_measured(results: Path) -> None:
    report("trial", {"rounds": 3})
    on = json.loads((results / "trial.json").read_text())["on"]
    assert {*on} == {"machine", "python", "torch"}
    assert on["torch"].split("+")[0] == torch.__version__.split("+")[0]


@pytest.mark.parametrize(
    ("keep", "why"), [("", "this run leaves something out"), ("--record", "--record keeps it")]
)
def test_a_run_that_is_not_whole_leaves_the_record(
    keep: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report("trial", {"rounds": 3})
    report("trial", {"rounds": 1}, whole=False, keep=keep)
    said = capsys.readouterr().out
    assert recorded("trial") == {"rounds": 3}
    assert f"nothing was kept: {why}\n" in said and said.count("rounds") == 2


def test_a_run_that_is_not_whole_makes_no_record(results: Path) -> None:
    report("trial", {"rounds": 1}, whole=False)
    assert recorded("trial") == {} and not results.exists()


def test_a_record_is_not_replaced_by_one_of_less() -> None:
    fp16 = {"losses": [1.0, 2.0], "all": [3], "steps": 40}
    report("trial", {"steps": 99, "fp16": fp16, "ours": {}})
    check_replaces("trial", ["ours", "more", "fp16"], 2, 40)
    check_replaces("another", [], 1)
    with pytest.raises(SystemExit, match=r"^what replaces record trial must have fp16, too$"):
        check_replaces("trial", ["ours", "more"], 2, 40)
    with pytest.raises(SystemExit, match=r"must have 2 runs of a way or more, not 1$"):
        check_replaces("trial", ["fp16", "ours"], 1, 40)
    with pytest.raises(SystemExit, match=r"must have 40 steps or more, not 39$"):
        check_replaces("trial", ["fp16", "ours"], 2, 39)
