"""Fixtures that the tests of the host share."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import torch.distributed as dist
import training_runs
from process_groups import WorkerServer
from training_runs import Run, Train

#: What training runs import.
_IMPORTED = (
    *("adagrain.host.cli.app", "adagrain.host.train.run", "adagrain.host.train.worker"),
    *("sklearn.datasets", "sklearn.model_selection"),
)


@pytest.fixture(scope="session")
def server() -> Iterator[WorkerServer]:
    """Runs workers of process groups, and training runs; started by the first test in need."""
    with WorkerServer(_IMPORTED) as server:
        yield server


@pytest.fixture(scope="session")
def run(server: WorkerServer) -> Run:
    """Training runs to their ends, by the folder of runs, the name and options."""
    return partial(training_runs.forked, server)


@pytest.fixture(scope="session")
def train(server: WorkerServer) -> Train:
    """The same of runs that must end well: their summaries."""
    return partial(training_runs.train, server)


@pytest.fixture
def lone_worker(tmp_path: Path) -> Iterator[None]:
    """A process group of this process alone."""
    dist.init_process_group("gloo", f"file://{tmp_path}/rendezvous", rank=0, world_size=1)
    yield
    dist.destroy_process_group()
