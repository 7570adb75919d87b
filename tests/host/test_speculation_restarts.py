"""Runs that go on from the last step that all workers have, after whatever has happened to them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from elastic_run import EVERY, STEPS
from process_groups import WorkerServer

RUN = Path(__file__).parent / "elastic_run.py"
EXAMPLE = Path(__file__).parents[2] / "examples" / "speculative.py"


def restarted(server: WorkerServer, folder: Path, **job: Any) -> dict[str, Any]:
    folder.mkdir()
    job = {"folder": str(folder), "seed": 0, "workers": 2, "faults": 0} | job
    (ended,) = server.run(RUN, json.dumps(job), count=1, timeout=300)
    assert ended.returncode == 0, (job, ended.stderr[-3000:])
    return json.loads(ended.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("workers", "faults", "seeds"),
    [
        (2, 4, [1]),
        pytest.param(2, 10, [2, 3, 4], marks=pytest.mark.full),
        pytest.param(3, 10, [5, 6], marks=pytest.mark.full),
    ],
)
def test_weights_are_those_of_a_run_without_faults(
    workers: int, faults: int, seeds: list[int], server: WorkerServer, tmp_path: Path
) -> None:
    undisturbed = restarted(server, tmp_path / "undisturbed", workers=workers)
    assert undisturbed["began"] == {"0": [0] * workers}
    for seed in seeds:
        folder = tmp_path / str(seed)
        found = restarted(server, folder, seed=seed, workers=workers, faults=faults)
        assert found["weights"] == undisturbed["weights"], seed
        assert all(len(set(steps)) == 1 for steps in found["began"].values()), (seed, found)
        begun = [steps[0] for steps in found["began"].values()]
        assert begun == sorted(begun), (seed, begun)
        assert any(0 < step < STEPS for step in begun), (seed, begun)
        names = [
            f"step-{step:08d}.rank{r}.pt" for step in (STEPS - EVERY, STEPS) for r in range(workers)
        ]
        assert sorted(path.name for path in folder.glob("step-*")) == names


def children(process: int) -> list[int]:
    command = ["ps", "--ppid", str(process), "-o", "pid="]
    return [*map(int, subprocess.run(command, capture_output=True, check=False).stdout.split())]


@pytest.mark.full
def test_the_example_goes_on_under_torchrun(server: WorkerServer, tmp_path: Path) -> None:
    options = ("--steps", "400", "--every", "20", "--tau", "0")
    undisturbed, _ = server.run(EXAMPLE, *options)
    torchrun = str(Path(sys.executable).with_name("torchrun"))
    command = [torchrun, "--standalone", "--nproc-per-node=2", "--max-restarts=3", str(EXAMPLE)]
    run = subprocess.Popen(
        [*command, *options, "--checkpoints", str(tmp_path)],
        env={**os.environ, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    for rank, step in enumerate((40, 160)):
        while not any(
            f".rank{rank}." in path.name and int(path.name[5:13]) >= step
            for path in tmp_path.iterdir()
        ):
            assert run.poll() is None
            time.sleep(0.01)
        os.kill(children(run.pid)[rank], signal.SIGKILL)
    said, _ = run.communicate(timeout=300)
    assert run.returncode == 0
    (accuracy,) = re.findall(r"accuracy \S+;", said)
    assert accuracy in undisturbed.stdout
    assert " of 400 steps" not in said and "400 steps" in undisturbed.stdout
