"""Units that are placed alone, beside what is recorded of them."""

import sys
from typing import Any

import pytest
import slices

BEFORE: dict[str, Any] = {"LUT": 1000, "DSP": 4, "MHz": [90.0, 100.0, 110.0]}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"LUT": 1030, "MHz": [97.0, 97.0, 50.0]}, []),
        ({"LUT": 1031}, ["LUTs must be at most 1030, not 1031"]),
        ({"MHz": [96.9, 80.0, 120.0]}, ["the median clock must be at least 97.0 MHz, not 96.9"]),
    ],
)
def test_beyond_the_margin(change: dict[str, Any], told: list[str]) -> None:
    assert [*slices.fallen_behind({**BEFORE, **change}, BEFORE)] == told


@pytest.mark.parametrize(("options", "kept"), [([], False), (["--record"], True)])
def test_what_is_worse_is_kept_if_asked_for(
    options: list[str], kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = []
    monkeypatch.setattr(sys, "argv", ["slices.py", "slice", *options])
    monkeypatch.setattr(slices, "recorded", lambda name: {row.unit: BEFORE for row in slices.UNITS})
    monkeypatch.setattr(slices, "placed", lambda row, status: {**BEFORE, "LUT": 2000})
    monkeypatch.setattr(slices, "report", lambda *given, **how: reports.append((*given, how)))
    with pytest.raises(SystemExit, match=r"^slice: LUTs must be at most 1030, not 2000$"):
        slices.main()
    ((name, figures, how),) = reports
    assert name == "slices" and how["whole"] is kept
    assert figures["slice"]["LUT"] == 2000 and figures["rescale"] == BEFORE
