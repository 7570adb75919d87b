"""Workers of a benchmark: a process each, the first of which tells what it finds."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Place", "free_port", "told_by_first"]


class Place(NamedTuple):
    """Where a worker runs: what stands in front of its command, and its environment."""

    prefix: Sequence[str]
    environment: dict[str, str]


def free_port() -> int:
    """A port of this machine that nobody has."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def told_by_first(
    places: Sequence[Place], program: Path, job: Any, port: int
) -> Iterator[dict[str, Any]]:
    """Run a program at all places; what the first worker writes, one JSON object a line.

    The program gets the job as JSON, and from its environment what ``init_process_group`` needs.
    Workers that still run when the caller has had enough are killed.

    Parameters
    ----------
    port : int
        One that is free where the first worker runs.

    Raises
    ------
    SystemExit
        If a worker failed.
    """
    common = {"MASTER_PORT": str(port), "WORLD_SIZE": str(len(places))}
    workers: list[subprocess.Popen[str]] = []
    try:
        for rank, place in enumerate(places):
            workers.append(
                subprocess.Popen(
                    [*place.prefix, sys.executable, str(program), json.dumps(job)],
                    env={**os.environ, **common, **place.environment, "RANK": str(rank)},
                    stdout=None if rank else subprocess.PIPE,
                    text=True,
                )
            )
        yield from map(json.loads, workers[0].stdout or ())
        failed = [worker for worker in workers if worker.wait()]
        if failed:
            sys.exit("a worker failed")
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
