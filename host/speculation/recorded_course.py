"""The course of a run, kept in a file as it comes."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from adagrain.host.files import writing
from adagrain.models.interface.recording import Kind

from .course import Times
from .flight import Departed, Flight
from .noted_course import NotedCourse

__all__ = ["RecordedCourse"]


class RecordedCourse(NotedCourse):
    """Lets a run take its course, and writes each event at once: a crash loses none.

    Parameters
    ----------
    folder, worker, workers, names
        As those of :class:`NotedCourse`. The folder is made where there is none.

    Raises
    ------
    FileExistsError
        If the folder has a recording of this worker: it is left alone.
    WriteError
        From :meth:`begin` on: if something cannot be written.
    """

    def __init__(self, folder: Path, worker: int, workers: int, names: Sequence[str]) -> None:
        super().__init__(folder, worker, workers, names)
        if self._path.exists():
            raise FileExistsError(
                f"record must be a folder without a recording, but there is {self._path}"
            )
        self._first = ""
        self._file: IO[str] | None = None

    def compare(self, common: Mapping[str, Any]) -> dict[str, Any]:
        """As :meth:`Course.compare`; it becomes the header, once the run begins."""
        self._first = json.dumps(self._header(common))
        return super().compare(common) | {"record": True}

    def arrived(
        self, flight: Flight, next_ones: Sequence[Departed], *, whole: bool
    ) -> Sequence[Departed] | None:
        """As :meth:`Course.arrived`."""
        look, found = self._look(flight), super().arrived(flight, next_ones, whole=whole)
        if found is not None:
            regions = [self._names[region] for own in found for region in own.regions]
            self._note(Kind.ARRIVED, look | {"regions": regions})
        return found

    def close(self) -> None:
        """As :meth:`Course.close`."""
        if self._file is not None:
            with writing(self._path):
                self._file.close()

    def _times(self, times: Times) -> Times:
        return times

    def _take(self, line: str) -> None:
        with writing(self._path):
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self._path.open("x", buffering=1)
                self._file.write(f"{self._first}\n")
            self._file.write(f"{line}\n")
