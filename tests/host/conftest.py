"""What the tests of the host share."""

from collections.abc import Iterator

import pytest
from process_groups import WorkerServer


@pytest.fixture(scope="session")
def server() -> Iterator[WorkerServer]:
    """Runs workers of process groups; started by the first test that needs it."""
    with WorkerServer() as server:
        yield server
