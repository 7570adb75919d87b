"""A course whose events are notes: lines of a recording."""

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import adagrain
from adagrain.host.distributed.step_log import StepLog
from adagrain.models.interface.recording import FORMAT, VERSION, Kind, file_of

from .course import Course, Standing, Times
from .flight import Flight
from .tags import Place
from .verdict import Verdict

__all__ = ["NotedCourse"]

#: A line of a recording.
Entry = dict[str, Any]


class NotedCourse(Course):
    """Makes a line of each event; what becomes of it is for the classes below.

    Parameters
    ----------
    folder : Path
        The recording's.
    worker, workers : int
        This worker's rank, and how many they are.
    names : sequence of str
        Of the regions.
    """

    def __init__(self, folder: Path, worker: int, workers: int, names: Sequence[str]) -> None:
        self._path = file_of(folder, worker)
        self._worker = worker
        self._workers = workers
        self._names = names
        self._step = self._looks = 0

    def begin(self, standing: Callable[[], Standing]) -> None:
        """As :meth:`Course.begin`."""
        now = standing()
        self._step = now.step
        self._note(Kind.STATE, now._asdict() | {"table": now.table.hex()})

    def planned(self, buckets: list[list[str]]) -> None:
        """As :meth:`Course.planned`."""
        self._note(Kind.PLANNED, {"step": self._step, "buckets": buckets})

    def bind(self, place: Place, region: int, *, guess: bool) -> None:
        """As :meth:`Course.bind`."""
        to = "guess" if guess else "anchor"
        about = {"step": self._step, "pass": place.number, "call": place.call}
        self._note(Kind.BOUND, {**about, "region": self._names[region], "to": to})

    def judge(self, step: int, region: int, verdict: Verdict) -> None:
        """As :meth:`Course.judge`."""
        about = {"step": step, "region": self._names[region], "accepted": verdict.accepted}
        self._note(Kind.JUDGED, about | {"difference": asdict(verdict.found)})

    def decide(self, log: StepLog) -> None:
        """As :meth:`Course.decide`."""
        regions = {
            name: {"update": update, "decision": log.decisions[name]}
            for name, update in log.updates.items()
        }
        about = {"step": log.step, "loss": log.agreed.loss, "dropped": log.dropped}
        self._note(Kind.DECIDED, {**about, "regions": regions})

    def commit(
        self, step: int, times: Times, losses: Sequence[float], weights: Callable[[], int]
    ) -> Times:
        """As :meth:`Course.commit`."""
        times = self._times(times)
        about = {"step": step, **times._asdict(), "losses": [*losses], "weights": weights()}
        self._note(Kind.COMMITTED, about)
        self._step = step + 1
        return times

    def end(self, weights: Callable[[], str]) -> None:
        """As :meth:`Course.end`."""
        self._note(Kind.END, {"step": self._step, "weights": weights()})

    def _header(self, common: Mapping[str, Any]) -> Entry:
        options = {name: repr(value) for name, value in common.items()}
        about = {"format": FORMAT, "version": VERSION, "adagrain": adagrain.__version__}
        who = {"worker": self._worker, "workers": self._workers, "regions": [*self._names]}
        return {"kind": Kind.HEADER, **about, **who, "options": options}

    def _look(self, flight: Flight) -> Entry:
        """The next look for a flight's updates, by its number."""
        self._looks += 1
        return {"step": flight.step.number, "look": self._looks}

    def _note(self, kind: Kind, fields: Mapping[str, Any]) -> None:
        self._take(json.dumps({"kind": kind, **fields}))

    @abstractmethod
    def _times(self, times: Times) -> Times:
        """The times that the next step tells."""

    @abstractmethod
    def _take(self, line: str) -> None:
        """An event has come."""
