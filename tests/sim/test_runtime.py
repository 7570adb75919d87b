"""Verilator's own objects, which the first build leaves to the others of its kind."""

from pathlib import Path

import pytest

from adagrain.sim.simulators import runner
from adagrain.sim.simulators.runtime import Runtime, share


def test_builds_share_them_with_their_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := runner.missing("verilator"):
        pytest.skip(reason)
    cache, builds = tmp_path / "cache", tmp_path / "builds"
    monkeypatch.setenv("ADAGRAIN_CACHE", str(cache))
    monkeypatch.setattr(runner, "BUILD", builds)

    waves = runner.run("queue", "packet", waves=True).waves
    assert waves is not None and waves.stat().st_size > 1000
    (folder,) = cache.iterdir()
    assert list((builds / "queue/packet/verilator-waves").glob("verilated*.o"))

    made = folder.stat().st_ino
    assert runner.run("queue", "single", waves=True).tests
    assert folder.stat().st_ino == made
    assert not list((builds / "queue/single/verilator-waves").glob("verilated*.o"))
    assert not Runtime("of another kind").make_flags

    other = tmp_path / "other"
    share(other)
    assert (other / folder.name).samefile(folder)
