"""Checkpoints: whole or not there, and only for the run that they belong to."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn

from adagrain.host.train import checkpoint
from adagrain.host.train.checkpoint import CheckpointError, Manifest, latest, load, save
from adagrain.host.train.options import TrainingOptions

NETWORK = nn.Linear(3, 2)
OPTIONS = TrainingOptions(name="run", workers=1)
MANIFEST = Manifest.of(OPTIONS, NETWORK)
STATE = {
    "weights": torch.tensor([1.5, -0.0, float("inf")]),
    "table": b"\x00\xff octets",
    "list": [1, (2, 3)],
    "none": None,
}


@pytest.fixture(autouse=True)
def one_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    store = tmp_path_factory.mktemp("store") / "file"
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    path = save(tmp_path, 12, STATE, MANIFEST)
    assert latest(tmp_path) == path
    loaded = load(path, MANIFEST)
    assert torch.equal(loaded.pop("weights").view(torch.int32), STATE["weights"].view(torch.int32))
    assert loaded == {name: value for name, value in STATE.items() if name != "weights"}


def test_the_two_newest_are_kept(tmp_path: Path) -> None:
    for step in (5, 10, 100, 20):
        save(tmp_path, step, {"step": step}, MANIFEST)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000020", "step-00000100"]
    newest = latest(tmp_path)
    assert newest is not None and load(newest, MANIFEST) == {"step": 100}


def test_saving_a_step_again_replaces_it(tmp_path: Path) -> None:
    save(tmp_path, 5, {"try": 1}, MANIFEST)
    assert load(save(tmp_path, 5, {"try": 2}, MANIFEST), MANIFEST) == {"try": 2}


def test_unfinished_checkpoints_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that dies between its file and the manifest leaves the one before in charge."""
    assert latest(tmp_path) is None
    first = save(tmp_path, 5, STATE, MANIFEST)
    monkeypatch.setattr(checkpoint.dist, "barrier", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save(tmp_path, 6, STATE, MANIFEST)
    assert latest(tmp_path) == first
    monkeypatch.undo()
    assert save(tmp_path, 6, STATE, MANIFEST) == latest(tmp_path)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"layout": 99}, "layout 1; this run has 99"),
        ({"version": "9.9"}, "version .*; this run has '9.9'"),
        ({"workers": 3}, "workers 1; this run has 3"),
        ({"network": "f00"}, "network '[0-9a-f]{64}'; this run has 'f00'"),
        ({"options": {**MANIFEST.options, "seed": 8}}, "seed 0; this run has 8"),
        ({"options": {**MANIFEST.options, "new": 8}}, "new None; this run has 8"),
    ],
    ids=lambda value: "" if isinstance(value, str) else next(iter(value)),
)
def test_checkpoints_of_other_runs_are_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    path = save(tmp_path, 5, STATE, MANIFEST)
    with pytest.raises(CheckpointError, match=f"step-00000005 was written with {message}"):
        load(path, dataclasses.replace(MANIFEST, **changes))


def test_networks_are_told_apart_by_shape_and_name() -> None:
    for other in (nn.Linear(3, 1), nn.Linear(3, 2, bias=False), nn.Sequential(nn.Linear(3, 2))):
        assert Manifest.of(OPTIONS, other).network != MANIFEST.network
    assert Manifest.of(OPTIONS, nn.Linear(3, 2)) == MANIFEST


def test_what_may_differ_and_what_may_not() -> None:
    free = dataclasses.replace(OPTIONS, device="golden:", timing="fixed", checkpoint_every=7)
    assert Manifest.of(free, NETWORK) == MANIFEST
    assert Manifest.of(dataclasses.replace(OPTIONS, batch=8), NETWORK) != MANIFEST


@pytest.mark.parametrize("name", ["rank0.pt", "manifest.json"])
@pytest.mark.parametrize("damage", ["cut", "missing"])
def test_damaged_checkpoints(tmp_path: Path, name: str, damage: str) -> None:
    path = save(tmp_path, 5, STATE, MANIFEST)
    file = path / name
    file.unlink() if damage == "missing" else file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(CheckpointError, match=f"{name} cannot be read"):
        load(path, MANIFEST)


def test_manifest_is_readable(tmp_path: Path) -> None:
    path = save(tmp_path, 5, STATE, MANIFEST)
    manifest = json.loads((path / "manifest.json").read_text())
    assert manifest["workers"] == 1
    assert manifest["options"]["learning_rate"] == OPTIONS.learning_rate
