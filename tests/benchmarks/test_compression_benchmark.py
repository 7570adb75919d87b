"""What the benchmark of compression refuses."""

import sys

import compression
import pytest


def test_ways_that_there_are_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["compression.py", "--ways", "fp16", "fast"])
    with pytest.raises(SystemExit):
        compression.main()
    assert "ways must be of dense, fp16, powersgd_1, " in capsys.readouterr().err
