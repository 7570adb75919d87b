"""Fixtures that the tests of the host share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch.distributed as dist
from process_groups import WorkerServer


@pytest.fixture(scope="session")
def server() -> Iterator[WorkerServer]:
    """Runs workers of process groups; started by the first test that needs it."""
    with WorkerServer() as server:
        yield server


@pytest.fixture
def lone_worker(tmp_path: Path) -> Iterator[None]:
    """A process group of this process alone."""
    dist.init_process_group("gloo", f"file://{tmp_path}/rendezvous", rank=0, world_size=1)
    yield
    dist.destroy_process_group()
