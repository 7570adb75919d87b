"""Verilator's own objects, which the first build leaves to the others of its kind."""

from pathlib import Path

import pytest

from adagrain.sim.simulators import runner
from adagrain.sim.simulators.runtime import share


def test_builds_share_them_with_their_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := runner.missing("verilator"):
        pytest.skip(reason)
    cache, builds = tmp_path / "cache", tmp_path / "builds"
    monkeypatch.setenv("ADAGRAIN_CACHE", str(cache))
    monkeypatch.setattr(runner, "BUILD", builds)

    assert runner.run("queue", "packet").waves is None
    (folder,) = cache.iterdir()
    assert list((builds / "queue/packet/verilator").glob("verilated*.o"))

    waves = runner.run("queue", "packet", waves=True).waves
    assert waves is not None and waves.stat().st_size > 1000
    assert list((builds / "queue/packet/verilator-waves").glob("verilated*.o"))

    made = folder.stat().st_ino
    assert runner.run("queue", "single").tests
    assert folder.stat().st_ino == made
    assert not list((builds / "queue/single/verilator").glob("verilated*.o"))

    other = tmp_path / "other"
    share(other)
    assert (other / folder.name).samefile(folder)
