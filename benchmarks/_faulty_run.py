"""A run of speculation in a network lab, started again by torchrun's agents, and its faults."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

from _lab import Lab

__all__ = ["Fault", "Outcome", "run"]

_WORKER = Path(__file__).with_name("_fault_worker.py")

_PORT = 29_510

#: Seconds for which a worker is stopped, and cut off.
_STOPPED, _CUT = 5.0, 10.0

#: Seconds without a step upon which a run is given up.
_PATIENCE = 240.0


class Fault(NamedTuple):
    """What has happened to a worker, and when: of the clock that all processes share."""

    kind: str
    worker: int
    began: float


class Outcome(NamedTuple):
    """What has become of a run: the workers' notes, its faults, and the seconds that it took."""

    notes: list[list[dict[str, Any]]]
    faults: list[Fault]
    seconds: float


def run(made: Lab, folder: Path, job: dict[str, Any], interval: float, faults: int) -> Outcome:
    """Run to the end, with a fault every so many seconds of steps.

    Parameters
    ----------
    folder : Path
        Of checkpoints and notes; empty.
    job : dict
        That of ``_fault_worker.py``, without the folder.
    faults : int
        How many there are at most.

    Raises
    ------
    SystemExit
        If a worker is not started again any more, or takes no step for minutes.
    """
    happened: list[Fault] = []
    notes = [folder / f"notes.{rank}" for rank in range(made.link.workers)]
    kinds, workers = cycle(_FAULTS), cycle(reversed(range(made.link.workers)))
    began = time.monotonic()
    with _agents(made, job | {"folder": str(folder)}, restarts=faults) as agents:
        due = _Due(interval)
        while any(agent.poll() is None for agent in agents):
            time.sleep(0.1)
            if due.is_now(notes) and len(happened) < faults:
                kind, worker = next(kinds), next(workers)
                happened.append(Fault(kind, worker, time.monotonic()))
                _FAULTS[kind](made, worker, _read(notes[worker])[-1]["process"], job["time_out"])
        if any(agent.returncode for agent in agents):
            sys.exit(f"the run has not come to its end; faults: {happened}")
    return Outcome([_read(path) for path in notes], happened, time.monotonic() - began)


class _Due:
    """Says when a fault is due: so long after steps are taken again by all workers."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._stepping: float | None = None
        self._since = time.monotonic()

    def is_now(self, notes: list[Path]) -> bool:
        now = time.monotonic()
        if self._stepping is None:
            last = [(_read(path) or [{}])[-1] for path in notes]
            if all("step" in own and own["time"] > self._since for own in last):
                self._stepping = now
            elif now - self._since > _PATIENCE:
                sys.exit(f"no step was taken for {_PATIENCE:g} s")
        elif now - self._stepping > self._interval:
            self._stepping, self._since = None, now
            return True
        return False


def _kill(made: Lab, worker: int, process: int, time_out: float) -> None:
    os.kill(process, signal.SIGKILL)


def _stop(made: Lab, worker: int, process: int, time_out: float) -> None:
    made.pause(worker)
    time.sleep(_STOPPED)
    made.resume(worker)


def _cut_for(seconds: Callable[[float], float]) -> Callable[[Lab, int, int, float], None]:
    def cut(made: Lab, worker: int, process: int, time_out: float) -> None:
        made.cut(worker)
        time.sleep(seconds(time_out))
        made.mend(worker)

    return cut


#: By name. Half the time-out: TCP sends again after twice the time at most.
_FAULTS: dict[str, Callable[[Lab, int, int, float], None]] = {
    "killed": _kill,
    f"stopped for {_STOPPED:g} s": _stop,
    f"cut off for {_CUT:g} s": _cut_for(lambda _: _CUT),
    "cut off for a third of the time-out": _cut_for(lambda time_out: time_out / 3),
}


@contextmanager
def _agents(made: Lab, job: dict[str, Any], restarts: int) -> Iterator[list[subprocess.Popen[Any]]]:
    """An agent of torchrun beside each worker; those that still run in the end are killed."""
    agents: list[subprocess.Popen[Any]] = []
    common = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "OMP_NUM_THREADS": "1"}
    try:
        for rank, place in enumerate(made.places):
            options = {
                "nnodes": len(made.places),
                "nproc-per-node": 1,
                "max-restarts": restarts,
                "monitor-interval": 0.2,
                "rdzv-id": job["folder"].replace("/", "-"),
                "rdzv-backend": "c10d",
                "rdzv-endpoint": f"{made.addresses[0]}:{_PORT}",
                "rdzv-conf": f"is_host={int(rank == 0)}",
                "local-addr": made.addresses[rank],
            }
            command = [sys.executable, "-m", "torch.distributed.run"]
            command += [f"--{name}={value}" for name, value in options.items()]
            agents.append(
                subprocess.Popen(
                    [*place.prefix, *command, str(_WORKER), json.dumps(job)],
                    env={**os.environ, **place.environment, **common},
                    stderr=(Path(job["folder"]) / f"errors.{rank}").open("w"),
                )
            )
        yield agents
    finally:
        for agent in agents:
            agent.kill()
            agent.wait()


def _read(notes: Path) -> list[dict[str, Any]]:
    """A worker's notes so far; a line may not be whole yet."""
    lines = notes.read_text().splitlines(keepends=True) if notes.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]
