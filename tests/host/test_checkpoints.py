"""Checkpoints of scripts: which one workers choose that have not all written the same."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from process_groups import WorkerServer

from adagrain import Checkpoints
from adagrain.host.files import WriteError

#: Writes files of some steps, of which each worker has its own, and goes on from one.
SCRIPT = """
import json, logging, sys
from pathlib import Path
import torch.distributed as dist
from adagrain import Checkpoints
logging.basicConfig()
dist.init_process_group("gloo")
folder, steps, damaged = json.loads(sys.argv[1])
checkpoints = Checkpoints(folder)
for step in steps[dist.get_rank()]:
    checkpoints.save(step, {"step": step, "rank": dist.get_rank()})
dist.barrier()
if dist.get_rank() == 1:
    for step in damaged:
        path = Path(folder) / f"step-{step:08d}.rank1.pt"
        path.write_bytes(path.read_bytes()[:100])
print(json.dumps(checkpoints.load()))
"""


def loaded(
    server: WorkerServer, folder: Path, *steps: list[int], damaged: tuple[int, ...] = ()
) -> tuple[list[Any], list[str], list[str]]:
    """What each worker goes on from, its last error, and the files that are left."""
    job = json.dumps([str(folder), steps, damaged])
    ended = server.run(Path("script"), job, count=len(steps), source=SCRIPT)
    found = [json.loads(worker.stdout) if worker.stdout else None for worker in ended]
    left = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    return found, [worker.error for worker in ended], left


def file_of(step: int, rank: int) -> str:
    return f"step-{step:08d}.rank{rank}.pt"


@pytest.mark.parametrize(
    ("steps", "chosen"),
    [
        (([10, 20], [10, 20]), 20),
        (([10, 20, 30], [10, 20]), 20),
        (([10], [10, 20], [10, 20]), 10),
        (([10, 20, 30], [10, 20, 30, 40], [20, 30]), 30),
    ],
    ids=str,
)
def test_all_go_on_from_the_newest_step_that_all_have(
    steps: tuple[list[int], ...], chosen: int, server: WorkerServer, tmp_path: Path
) -> None:
    found, _, left = loaded(server, tmp_path, *steps)
    assert found == [[chosen, {"step": chosen, "rank": rank}] for rank in range(len(steps))]
    kept = [(step, r) for r, own in enumerate(steps) for step in own[-2:] if step <= chosen]
    assert left == sorted(file_of(step, rank) for step, rank in kept)


@pytest.mark.parametrize("steps", [([], []), ([10], []), ([], [10], [])], ids=str)
def test_a_run_begins_anew_where_none_was_complete(
    steps: tuple[list[int], ...], server: WorkerServer, tmp_path: Path
) -> None:
    found, said, left = loaded(server, tmp_path, *steps)
    assert found == [None] * len(steps)
    assert left == [f"{file_of(10, rank)}.left" for rank, own in enumerate(steps) if own]
    assert ("begins anew: no checkpoint was written by all workers" in said[0]) == any(steps)


def test_checkpoints_that_are_gone_are_missed(server: WorkerServer, tmp_path: Path) -> None:
    found, said, left = loaded(server, tmp_path, [10, 20], [])
    assert found == [None, None]
    for text in said:
        assert text.endswith(
            f"CheckpointError: workers must have the checkpoint of one step in {tmp_path}, but "
            "worker 0 has [10, 20], worker 1 has []"
        )
    assert left == [file_of(10, 0), file_of(20, 0)]


def test_a_damaged_file_is_named_on_all_workers(server: WorkerServer, tmp_path: Path) -> None:
    found, said, left = loaded(server, tmp_path, [10, 20, 30], [10, 20], damaged=(20,))
    assert found == [None, None]
    error = f"CheckpointError: {tmp_path}/{file_of(20, 1)} cannot be read: "
    assert "WorkerFailedError: worker 1 failed: " in said[0] and error in said[0]
    assert error in said[1] and "WorkerFailed" not in said[1]
    assert file_of(30, 0) in left  # nothing was removed


def test_all_go_back_to_a_step_that_is_whole(server: WorkerServer, tmp_path: Path) -> None:
    found, said, left = loaded(server, tmp_path, [10, 20], [10, 20], damaged=(20,))
    assert found == [[10, {"step": 10, "rank": rank}] for rank in range(2)]
    damaged = f"{tmp_path}/{file_of(20, 1)} cannot be read: "
    assert "going back to the checkpoint of step 10: worker 1 failed: " in said[0]
    assert damaged in said[0] and not said[1]
    assert left == [file_of(10, 0), file_of(10, 1)]


def test_where_no_step_is_whole_nothing_is_removed(server: WorkerServer, tmp_path: Path) -> None:
    _, said, left = loaded(server, tmp_path, [10, 20], [10, 20], damaged=(10, 20))
    assert f"CheckpointError: {tmp_path}/{file_of(10, 1)} cannot be read: " in said[1]
    assert len(left) == 4


@pytest.mark.usefixtures("lone_worker")
def test_files_of_an_earlier_run_are_not_gone_on_from(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    earlier, later = Checkpoints(folder), Checkpoints(folder)
    for step in (500, 600):
        earlier.save(step, {"run": 1})
    another = folder / file_of(700, 1)
    another.touch()
    for step in (50, 100, 150):
        later.save(step, {"run": 2})
    assert later.load() == (150, {"run": 2})
    left = sorted(path.name for path in folder.iterdir())
    assert left == [file_of(100, 0), file_of(150, 0), another.name]


@pytest.mark.usefixtures("lone_worker")
def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^step must be 0 or more, not -1$"):
        Checkpoints(tmp_path).save(-1, {})
    for step in ("3", 1.5, True):
        with pytest.raises(TypeError, match=f"^step must be an integer, not {step!r}$"):
            Checkpoints(tmp_path).save(step, {})
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(WriteError, match="cannot be written: "):
        Checkpoints(blocked).save(1, {})


@pytest.mark.usefixtures("lone_worker")
def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    checkpoints = Checkpoints(folder)
    for step in (1, 2):
        checkpoints.save(step, {"weights": torch.ones(3) * step})
    with pytest.raises(TypeError, match=r"state must hold tensors, .* of them: .*pickle"):
        checkpoints.save(3, {"function": lambda: 0})
    with pytest.raises(TypeError, match=r"state must be a mapping, not \[1, 2\]"):
        checkpoints.save(3, [1, 2])  # type: ignore[arg-type]
    assert sorted(path.name for path in folder.iterdir()) == [file_of(1, 0), file_of(2, 0)]
    found = checkpoints.load()
    assert found and found[0] == 2 and torch.equal(found[1]["weights"], torch.ones(3) * 2)


@pytest.mark.usefixtures("lone_worker")
def test_what_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    """It would be found out after the failure that the checkpoint is for."""
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, {"weights": torch.ones(3, dtype=torch.bfloat16), "text": ["a", None, 1.5]})
    before = sorted(tmp_path.iterdir())
    wanted = "state must hold tensors, numbers, texts, and collections of them, not numpy"
    for step in (2, 1):
        with pytest.raises(TypeError, match=wanted):
            checkpoints.save(step, {"generator": np.random.get_state()})
        assert sorted(tmp_path.iterdir()) == before
    found = checkpoints.load()
    assert found and found[1]["text"] == ["a", None, 1.5]


@pytest.mark.usefixtures("lone_worker")
def test_checkpoints_of_earlier_versions_are_loaded(tmp_path: Path) -> None:
    torch.save({"weights": torch.ones(3)}, tmp_path / file_of(7, 0))
    found = Checkpoints(tmp_path).load()
    assert found and found[0] == 7 and torch.equal(found[1]["weights"], torch.ones(3))


def test_checkpoints_of_fewer_workers_are_refused_and_stay(
    server: WorkerServer, tmp_path: Path
) -> None:
    loaded(server, tmp_path, [10], [10])
    found, said, left = loaded(server, tmp_path, [], [], [])
    assert found == [None] * 3 and left == [file_of(10, 0), file_of(10, 1)]
    wanted = f"CheckpointError: checkpoints in {tmp_path} must be of 3 workers, not of 2: start"
    assert all(wanted in text for text in said)
    found, *_ = loaded(server, tmp_path, [], [])
    assert found == [[10, {"step": 10, "rank": rank}] for rank in range(2)]
