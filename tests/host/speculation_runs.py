"""Runs of the tests of speculation, on real workers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from process_groups import WorkerServer

__all__ = [
    "COMPRESSED",
    "LATE",
    "MIXED",
    "NOISE",
    "NOTHING_IS_ACCEPTED",
    "OFF",
    "RESIDUAL",
    "Found",
    "Train",
    "assert_equal",
    "trained",
]

WORKER = Path(__file__).parent / "speculation_worker.py"

#: What workers find, by rank, for each run.
Found = list[list[dict[str, Any]]]
Train = Callable[..., Found]

OFF = {"depth": 0, "policy": "never"}
NOTHING_IS_ACCEPTED = {"tau": 0}
COMPRESSED = {"compression": {"density": 0.1, "bypass": "never"}}

#: Cadences by region; 1 for the others.
MIXED = {"cadences": {"0": 2, "4": 4}}
RESIDUAL = {"network": "residual", "cadences": {"first": 4, "one": 2, "last": 2}}

#: A policy to which little noise is enough: each region comes to a cadence of 4.
NOISE = {
    "cadence": "noise",
    "cadence_max": 4,
    "steps": 32,
    "parameters": {"dwell": 1, "noise": 8, "noise_samples": 4},
}

#: Updates that nobody finds before he waits for them.
LATE = {"looks": 10**9}

#: What must be equal on all workers.
ALIKE = ("weights", "anchors", "agreed", "states", "collectives", "dropped", "cadences")


def trained(
    server: WorkerServer,
    *runs: dict[str, Any],
    count: int = 2,
    timeout: float = 120,
    **common: Any,
) -> Found:
    """Runs, one after the other on the same workers; weights and anchors must be equal on them."""
    arguments = [json.dumps(common | own) for own in runs]
    ended = server.run(WORKER, *arguments, count=count, timeout=timeout)
    for worker in ended:
        assert worker.returncode == 0, worker.stderr[-3000:]
    by_rank = [[json.loads(line) for line in own.stdout.splitlines()] for own in ended]
    found = [list(ranks) for ranks in zip(*by_rank, strict=True)]
    for ranks in found:
        for name in ALIKE:
            assert all(own.get(name) == ranks[0].get(name) for own in ranks), name
    return found


def assert_equal(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> None:
    for name in ("weights", "buffers", "losses"):
        assert [own[name] for own in one] == [own[name] for own in other], name
