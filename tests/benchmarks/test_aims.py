"""What benchmarks find of their aims in what is recorded, and in what falls short of it."""

from typing import Any

import decoder
import digits
import encoder
import pytest
from _codec_units import fallen_short
from _report import recorded

#: Benchmarks of the codec's gateware.
UNITS: dict[str, Any] = {"decoder": decoder, "encoder": encoder}


@pytest.mark.parametrize("unit", UNITS)
def test_records_reach_the_aims(unit: str) -> None:
    assert fallen_short(recorded(unit), UNITS[unit].AIMS) is None


@pytest.mark.parametrize("aim", encoder.AIMS)
def test_what_falls_short_is_told(aim: str) -> None:
    figures = {**recorded("encoder"), aim: 0.96}
    assert f"{aim} must be at least" in str(fallen_short(figures, encoder.AIMS))


@pytest.mark.parametrize("differing", ["metrics", "weights_sha256"])
def test_digits_that_differ_on_golden_models_are_told(
    differing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(folder: object, device: str, seed: int) -> dict[str, Any]:
        same = {"accuracy": 1.0, "seconds": 1.0, "metrics": "", "weights_sha256": ""}
        return {"steps": 1, "workers": 2, "backend": "", **same, differing: device}

    kept = {}
    monkeypatch.setattr(digits, "run", run)
    monkeypatch.setattr(digits, "report", lambda name, figures: kept.update(figures))
    with pytest.raises(SystemExit, match=r"^golden_same_[a-z]+ must be true, but is not$"):
        digits.main()
    assert kept["golden_same_decisions"] == (differing != "metrics")
