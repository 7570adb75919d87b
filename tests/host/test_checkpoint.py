"""Checkpoints: whole or not there, and only for the run that they belong to."""

import dataclasses
import json
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn

from adagrain.host.files import WriteError
from adagrain.host.train import checkpoint
from adagrain.host.train.checkpoint import (
    CheckpointError,
    Manifest,
    checkpoints,
    choose,
    load,
    remove_unfinished,
    save,
    set_aside,
    step_of,
)
from adagrain.host.train.options import TrainingOptions

NETWORK = nn.Linear(3, 2)
OPTIONS = TrainingOptions(name="run", workers=1)
MANIFEST = Manifest.of(OPTIONS, NETWORK)
WITHOUT_SEED = {name: own for name, own in MANIFEST.options.items() if name != "seed"}
STATE = {
    "weights": torch.tensor([1.5, -0.0, float("inf")]),
    "table": b"\x00\xff bytes",
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
    assert choose(tmp_path, MANIFEST) == path
    loaded = load(path, MANIFEST)
    assert torch.equal(loaded.pop("weights").view(torch.int32), STATE["weights"].view(torch.int32))
    assert loaded == {name: value for name, value in STATE.items() if name != "weights"}


def test_the_two_newest_are_kept(tmp_path: Path) -> None:
    for step in (5, 10, 100, 20):
        save(tmp_path, step, {"step": step}, MANIFEST)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000020", "step-00000100"]
    assert load(choose(tmp_path, MANIFEST), MANIFEST) == {"step": 100}
    assert load(choose(tmp_path, MANIFEST, 20), MANIFEST) == {"step": 20}


def test_saving_a_step_again_replaces_it(tmp_path: Path) -> None:
    save(tmp_path, 5, {"try": 1}, MANIFEST)
    assert load(save(tmp_path, 5, {"try": 2}, MANIFEST), MANIFEST) == {"try": 2}


def test_unfinished_checkpoints_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that dies between its file and the manifest leaves the one before in charge."""
    first = save(tmp_path, 5, STATE, MANIFEST)
    monkeypatch.setattr(checkpoint.dist, "all_gather_object", lambda files, own: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save(tmp_path, 6, STATE, MANIFEST)
    assert checkpoints(tmp_path) == [first] == [choose(tmp_path, MANIFEST)]
    remove_unfinished(tmp_path)
    assert [*tmp_path.iterdir()] == [first]
    monkeypatch.undo()
    assert save(tmp_path, 6, STATE, MANIFEST) == choose(tmp_path, MANIFEST)


def test_a_disk_that_is_full_leaves_the_ones_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = save(tmp_path, 5, STATE, MANIFEST)
    large = {"weights": torch.zeros(1 << 20)}
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    message = r"step-00000006.*/rank0\.pt cannot be written: File too large"
    try:
        with pytest.raises(WriteError, match=message):
            save(tmp_path, 6, large, MANIFEST)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert choose(tmp_path, MANIFEST) == first


@pytest.mark.parametrize(
    "taken, message",
    [
        ("", r"step-00000005\.partial cannot be written: Not a directory"),
        ("step-00000005", "step-00000005 cannot be written: Not a directory"),
    ],
)
def test_a_file_where_a_folder_belongs_is_named(tmp_path: Path, taken: str, message: str) -> None:
    folder = tmp_path / "checkpoints"
    (folder / taken).parent.mkdir(exist_ok=True)
    (folder / taken).write_text("")
    with pytest.raises(WriteError, match=message):
        save(folder, 5, STATE, MANIFEST)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"layout": 99}, "layout 7; this run has 99"),
        ({"version": "9.9"}, "version .*; this run has '9.9'"),
        ({"workers": 3}, "workers 1; this run has 3"),
        ({"network": "f00"}, "network '[0-9a-f]{64}'; this run has 'f00'"),
        ({"options": {**MANIFEST.options, "seed": 8}}, "seed 0; this run has 8"),
        ({"options": {**MANIFEST.options, "new": 8}}, "new None; this run has 8"),
        ({"options": WITHOUT_SEED}, "seed 0; this run has None"),
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


def change_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda path: (path / "rank0.pt").unlink(), "rank0.pt cannot be read: No such file"),
        (lambda path: os.truncate(path / "rank0.pt", 40), "rank0.pt is damaged: its SHA-256 must"),
        (lambda path: change_a_byte(path / "rank0.pt"), "rank0.pt is damaged: its SHA-256 must"),
        (lambda path: os.truncate(path / "manifest.json", 40), "manifest.json cannot be read"),
        (lambda path: (path / "manifest.json").write_text("[]"), "manifest.json cannot be read"),
    ],
    ids=["missing", "cut", "one bit", "manifest cut", "other manifest"],
)
def test_a_damaged_checkpoint_is_named_and_the_one_before_offered(
    tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    older, newer = save(tmp_path, 5, STATE, MANIFEST), save(tmp_path, 10, STATE, MANIFEST)
    damage(newer)
    with pytest.raises(CheckpointError, match=message):
        load(newer, MANIFEST)
    offer = "; --resume --from-step 5 goes on from the one before it"
    with pytest.raises(CheckpointError, match=f"step-00000010/{message}.*{offer}"):
        choose(tmp_path, MANIFEST)
    assert choose(tmp_path, MANIFEST, 5) == older
    damage(older)
    with pytest.raises(CheckpointError, match=f"{message}.*no one before it can be used"):
        choose(tmp_path, MANIFEST)


def test_what_there_is_not_cannot_be_chosen(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="--overwrite begins the run anew"):
        choose(tmp_path, MANIFEST)
    for step in (5, 10):
        save(tmp_path, step, STATE, MANIFEST)
    with pytest.raises(CheckpointError, match="from_step must be one of 5, 10, not 7"):
        choose(tmp_path, MANIFEST, 7)


def test_checkpoints_are_set_aside_until_the_run_has_come_as_far(tmp_path: Path) -> None:
    for step in (5, 10):
        save(tmp_path, step, STATE, MANIFEST)
    set_aside(tmp_path, 5)
    assert [step_of(path) for path in checkpoints(tmp_path)] == [5]
    save(tmp_path, 8, STATE, MANIFEST)
    assert (tmp_path / "step-00000010.aside").exists()
    save(tmp_path, 12, STATE, MANIFEST)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000008", "step-00000012"]


def test_manifest_is_readable(tmp_path: Path) -> None:
    path = save(tmp_path, 5, STATE, MANIFEST)
    manifest = json.loads((path / "manifest.json").read_text())
    assert manifest["workers"] == 1
    assert manifest["options"]["learning_rate"] == OPTIONS.learning_rate


@pytest.mark.parametrize("name", ["options", "files"])
def test_a_manifest_that_lacks_a_part_is_named(tmp_path: Path, name: str) -> None:
    path = save(tmp_path, 5, STATE, MANIFEST) / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), name: None}))
    with pytest.raises(CheckpointError, match=f"{path} cannot be read: options and files must be"):
        choose(tmp_path, MANIFEST)
