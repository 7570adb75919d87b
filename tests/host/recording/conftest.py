"""Recordings that the tests of them share."""

import json
from pathlib import Path
from typing import Any

import pytest
from process_groups import Ended, WorkerServer
from recordings import Entry, Runs, found

WORKER = Path(__file__).parents[1] / "recording_worker.py"


@pytest.fixture(scope="session")
def workers(server: WorkerServer) -> Runs:
    """Runs, one after the other on the same workers."""

    def run(*runs: Entry, count: int = 2, **common: Any) -> list[Ended]:
        arguments = [json.dumps(common | own) for own in runs]
        return server.run(WORKER, *arguments, count=count)

    return run


@pytest.fixture(scope="session")
def recorded(workers: Runs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of two workers, with accepted and rejected guesses."""
    folder = tmp_path_factory.mktemp("run") / "recording"
    found(workers({"record": str(folder)}))
    return folder


@pytest.fixture(scope="session")
def planned(workers: Runs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of two workers that have chosen their buckets, two updates deep."""
    folder = tmp_path_factory.mktemp("planned") / "recording"
    found(workers({"record": str(folder), "bucket_bytes": None, "depth": 2}))
    return folder
