"""All-reduces of ours equal those of torch, to the bit."""

from pathlib import Path

import pytest
from process_groups import WorkerServer


@pytest.mark.parametrize("count", [1, 2, 3])
def test_they_equal_those_of_torch(server: WorkerServer, count: int) -> None:
    ended = server.run(Path(__file__).with_name("all_reduce_worker.py"), count=count)
    assert all(own.returncode == 0 and own.stdout == "equal\n" for own in ended), ended
