"""Steps as scripts take them: what rests, what is added up, what is refused, what is given back."""

from pathlib import Path

import pytest
from process_groups import WorkerServer
from user_steps_worker import CASES


@pytest.mark.parametrize("name", CASES)
def test_steps(server: WorkerServer, name: str) -> None:
    ended = server.run(Path(__file__).with_name("user_steps_worker.py"), name)
    assert all(own.returncode == 0 for own in ended), "\n".join(own.stderr for own in ended)
