"""Times that enter decisions."""

import json
from pathlib import Path

import pytest

from adagrain.host.distributed.timing import Timing


def test_measured_times_pass_as_microseconds() -> None:
    assert Timing.parse("measured").local(0.5, 1e-6) == (500_000, 1)


def test_fixed_times_replace_them() -> None:
    assert Timing.parse("fixed").local(0.5, 0.5) == (0, 0)
    assert Timing.parse("fixed:7,9").local(0.5, 0.5) == (7, 9)


def test_replayed_sums_replace_the_sums(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    lines = [{"step": 0, "stall": 3, "redo": 4}, {"step": 0, "accuracy": 0.5}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    timing = Timing.parse(f"replay:{path}")
    assert timing.agreed(0, 100, 100) == (3, 4)
    with pytest.raises(ValueError, match="replayed times must cover step 1"):
        timing.agreed(1, 100, 100)


def test_sums_are_bounded() -> None:
    assert Timing().agreed(0, 1 << 40, 1) == (0xFFFFFFFF, 1)


@pytest.mark.parametrize(
    "text", ["fast", "fixed:1", "fixed:a,b", "fixed:1,b", "fixed:a,1", "fixed:²,1", ""]
)
def test_unknown_mode(text: str) -> None:
    with pytest.raises(ValueError, match=f"timing must be 'measured', .* not {text!r}"):
        Timing.parse(text)


@pytest.mark.parametrize("text", ["fixed:4294967296,0", f"fixed:0,{10**20}"])
def test_times_beyond_what_devices_take(text: str) -> None:
    with pytest.raises(ValueError, match="timing must have times of at most 4294967295 µs, not"):
        Timing.parse(text)


@pytest.mark.parametrize("stall", ["null", "-1", "0.5", "true", '"3"'])
def test_replayed_times_that_are_no_numbers(tmp_path: Path, stall: str) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(f'{{"step": 3, "stall": {stall}, "redo": 4}}\n')
    with pytest.raises(ValueError, match=f"must hold whole numbers, but step 3 of {path} has "):
        Timing.parse(f"replay:{path}")


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="timing file must exist, but there is no"):
        Timing.parse(f"replay:{tmp_path / 'none'}")
    path = tmp_path / "file"
    path.write_text("no json\nnone\n")
    with pytest.raises(ValueError, match=r"must be a run's metrics\.jsonl"):
        Timing.parse(f"replay:{path}")
    path.write_text('{"step": 3, "st')
    with pytest.raises(ValueError, match="holds none"):
        Timing.parse(f"replay:{path}")
    path.write_text('{"step": [3], "stall": 1, "redo": 1}\n')
    with pytest.raises(ValueError, match=r"must be a run's metrics\.jsonl"):
        Timing.parse(f"replay:{path}")
    path.write_text("{}\n")
    with pytest.raises(ValueError, match="holds none"):
        Timing.parse(f"replay:{path}")
