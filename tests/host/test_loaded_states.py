"""States that are loaded: runs go back to them, and those of others are refused."""

from pathlib import Path

import pytest
from loaded_states_worker import CASES
from process_groups import WorkerServer


@pytest.mark.parametrize("name", CASES)
def test_states(server: WorkerServer, name: str) -> None:
    ended = server.run(Path(__file__).with_name("loaded_states_worker.py"), name)
    assert all(own.returncode == 0 for own in ended), "\n".join(own.stderr for own in ended)
