"""The course of a recorded run, taken again, and compared as it goes."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from adagrain.models.interface.recording import Kind, RecordingError, read_entries

from .course import Times
from .entries import first_difference, place_of
from .flight import Departed, Flight
from .noted_course import Entry, NotedCourse

__all__ = ["ReplayError", "ReplayedCourse"]


class ReplayError(RuntimeError):
    """A run is not the one that was recorded; the message says where they part, and how."""


class ReplayedCourse(NotedCourse):
    """Has a run take the course of another one.

    At each look for updates, those are waited for that were there in the recording, and others
    are left alone; each step tells the recorded times. All else that is recorded must come again.

    Parameters
    ----------
    folder, worker, workers, names
        As those of :class:`NotedCourse`.

    Raises
    ------
    RecordingError
        If there is no recording of this worker, or it is of another version or number of workers.
        Later, where it cannot be read on.
    ReplayError
        From :meth:`begin` on: at the first event that is another one.
    """

    def __init__(self, folder: Path, worker: int, workers: int, names: Sequence[str]) -> None:
        super().__init__(folder, worker, workers, names)
        self._entries: Iterator[Entry] = read_entries(self._path)
        self._first = next(self._entries)
        self._ahead: Entry | None = None
        self._plan: list[list[str]] | None = None
        if self._first["workers"] != workers:
            raise RecordingError(
                f"workers must be {self._first['workers']} as recorded, not {workers} "
                f"({self._path})"
            )

    def compare(self, common: Mapping[str, Any]) -> dict[str, Any]:
        """As :meth:`Course.compare`."""
        recorded, now = self._first["options"], self._header(common)["options"]
        for name in {**recorded, **now}:
            was, is_now = (own.get(name, "not there") for own in (recorded, now))
            if was != is_now:
                raise ValueError(f"{name} must be {was} as recorded, not {is_now} ({self._path})")
        if common["bucket_bytes"] is None:
            self._plan = self._read_plan()
        return super().compare(common) | {"replay": True, "recorded buckets": self._plan}

    def plan(self, choose: Callable[[], list[int]]) -> list[int]:
        """As :meth:`Course.plan`."""
        if self._plan is None:
            raise ReplayError(
                f"step {self._step}: buckets must be chosen here, but were not in the recording "
                f"({self._path})"
            )
        return [*map(len, self._plan)]

    def arrived(
        self, flight: Flight, next_ones: Sequence[Departed], *, whole: bool
    ) -> Sequence[Departed] | None:
        """As :meth:`Course.arrived`."""
        look, entry = self._look(flight), self._peek()
        if entry["kind"] != Kind.ARRIVED or any(entry[name] != look[name] for name in look):
            return None
        regions = {*entry["regions"]}
        found = [own for own in next_ones if regions >= self._named(own)]
        if regions != {name for own in found for name in self._named(own)}:
            under_way = sorted(name for own in next_ones for name in self._named(own))
            raise ReplayError(
                f"step {self._step}: updates of regions {sorted(regions)} must be next as "
                f"recorded, but those of {under_way} are ({self._path})"
            )
        self._ahead = None
        return found

    def _read_plan(self) -> list[list[str]] | None:
        """The buckets that were chosen; ``None`` where the run has not come so far."""
        chosen = (own["buckets"] for own in read_entries(self._path) if own["kind"] == Kind.PLANNED)
        buckets: list[list[str]] | None = next(chosen, None)
        named = [name for own in buckets or () for name in own]
        if buckets is not None and (named != [*reversed(self._names)] or not all(buckets)):
            raise RecordingError(
                f"chosen buckets must have all regions, from the last to the first, not {buckets} "
                f"({self._path})"
            )
        return buckets

    def _named(self, departed: Departed) -> set[str]:
        return {self._names[region] for region in departed.regions}

    def _times(self, times: Times) -> Times:
        entry = self._peek()
        if entry["kind"] != Kind.COMMITTED:
            return times  # which is told when they are compared
        return Times(entry["stall"], entry["redo"])

    def _take(self, line: str) -> None:
        recorded, now = self._peek(), json.loads(line)
        self._ahead = None
        if place_of(recorded) != place_of(now):
            what, was, is_now = "what comes next", place_of(recorded), place_of(now)
        elif difference := first_difference(recorded, now):
            what, was, is_now = difference
        else:
            return
        raise ReplayError(
            f"step {now['step']}: {what} must be {was} as recorded, not {is_now} ({self._path})"
        )

    def _peek(self) -> Entry:
        """The next entry."""
        if self._ahead is None:
            self._ahead = next(self._entries, None)
        if self._ahead is None:
            raise ReplayError(
                f"step {self._step}: the run must end as its recording does, but goes on "
                f"({self._path})"
            )
        return self._ahead
