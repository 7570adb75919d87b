"""Recordings of speculative runs: a folder with a file of JSON lines for each worker."""

import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Any

from .units.region_manager import Decision, RegionUpdate, SpeculationState

__all__ = [
    "FIELDS",
    "FORMAT",
    "VERSION",
    "Kind",
    "RecordingError",
    "file_of",
    "read_entries",
    "workers_of",
]

#: What the first line of a file says that it is.
FORMAT = "adagrain recording"

#: Raised with each change of what lines hold.
VERSION = 1


class Kind(StrEnum):
    """Kind of a line; ``docs/recording.md`` has the fields of each."""

    HEADER = "header"  #: of what run it is; the first line
    STATE = "state"  #: how the worker stands where it begins, or is resumed
    PLANNED = "planned"  #: the buckets were chosen
    ARRIVED = "arrived"  #: updates that were there at a look for them
    BOUND = "bound"  #: a region was bound to its anchor or its guess
    JUDGED = "judged"  #: a guess was compared with the true update
    DECIDED = "decided"  #: what the workers agreed on in a step, and the device's decisions
    COMMITTED = "committed"  #: a step was contributed to the collectives
    END = "end"  #: the run was closed; the last line


#: The fields of each kind of line, beside its kind, and what they are in Python.
FIELDS: dict[Kind, dict[str, type | UnionType]] = {
    Kind.HEADER: {
        "format": str,
        "version": int,
        "adagrain": str,
        "worker": int,
        "workers": int,
        "regions": list,
        "options": dict,
    },
    Kind.STATE: {
        "step": int,
        "table": str,
        "parameters": dict,
        "weights": int,
        "buckets": list,
    },
    Kind.PLANNED: {"step": int, "buckets": list},
    Kind.ARRIVED: {"step": int, "look": int, "regions": list},
    Kind.BOUND: {"step": int, "pass": int, "call": int, "region": str, "to": str},
    Kind.JUDGED: {"step": int, "region": str, "accepted": bool, "difference": dict},
    Kind.DECIDED: {"step": int, "loss": int | None, "dropped": list, "regions": dict},
    Kind.COMMITTED: {"step": int, "stall": int, "redo": int, "losses": list, "weights": int},
    Kind.END: {"step": int, "weights": str},
}


#: The integers in each part of a region's row in a line of ``decided``; guesses are not counted
#: where nobody guesses.
_INTEGERS = {
    part: [str(own) for own, _ in layout if own not in ("_reserved", "accepts", "trials")]
    for part, layout in (("update", RegionUpdate), ("decision", Decision))
}


class RecordingError(ValueError):
    """A recording cannot be read; the message names the file, and what is wrong."""


def file_of(folder: Path, worker: int) -> Path:
    """The file of a worker, by its rank."""
    return folder / f"worker-{worker}.jsonl"


def workers_of(folder: Path) -> int:
    """Workers whose files are in a folder, counted from the first one on.

    Raises
    ------
    RecordingError
        If there is none of the first.
    """
    count = 0
    while file_of(folder, count).is_file():
        count += 1
    if not count:
        raise RecordingError(f"there must be a recording in {folder}, but there is none")
    return count


def read_entries(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file, as they are asked for; the header first.

    A last line that was cut short is left out: it is what a process leaves that was killed.

    Raises
    ------
    RecordingError
        If there is no such file, it is no recording, of another version, or a line is none.
    """
    if not path.is_file():
        raise RecordingError(f"there must be a recording at {path}, but there is no such file")
    with path.open(encoding="utf-8", errors="replace") as file:
        header = next(file, "")
        if header.startswith('{"kind": "header"') and not header.endswith("\n"):
            size = path.stat().st_size
            raise RecordingError(
                f"{path} must be a recording, but its header is cut off at byte {size}"
            )
        yield _header(path, header)
        for number, line in enumerate((line for line in file if line.endswith("\n")), 2):
            entry = _parsed(line)
            if entry is None:
                raise RecordingError(
                    f"line {number} of {path} must be a JSON object with the fields of its kind, "
                    f"not {line[:60].rstrip()!r}"
                )
            if entry["kind"] == Kind.DECIDED:
                _check_rows(entry["regions"], f"line {number} of {path}")
            yield entry


def _header(path: Path, line: str) -> dict[str, Any]:
    """The first line, if it is that of a recording."""
    try:
        found = json.loads(line)
        known = found["format"] == FORMAT
    except (ValueError, TypeError, KeyError):
        known = False
    if not known:
        raise RecordingError(f"{path} must be a recording, but has no header of one")
    version = found.get("version")
    if isinstance(version, bool) or version != VERSION:
        raise RecordingError(f"{path} must be a recording of version {VERSION}, not {version!r}")
    entry = _parsed(line)
    if entry is None:
        known = ", ".join(FIELDS[Kind.HEADER])
        raise RecordingError(f"the header of {path} must have the fields {known}")
    return entry


def _check_rows(regions: dict[str, Any], where: str) -> None:
    """See to it that the rows of regions in a decided step have all their integers."""
    for region, row in regions.items():
        for part, names in _INTEGERS.items():
            found = row.get(part) if isinstance(row, dict) else None
            if not isinstance(found, dict) or not all(
                isinstance(found.get(name), int) for name in names
            ):
                raise RecordingError(
                    f"{where} must have the integers {', '.join(names)}, in the {part} of region "
                    f"{region!r}"
                )
        if (state := row["decision"]["state"]) not in {*map(int, SpeculationState)}:
            known = ", ".join(str(int(own)) for own in SpeculationState)
            raise RecordingError(
                f"{where} must have one of {known} as the state of region {region!r}, not {state}"
            )


def _parsed(line: str) -> dict[str, Any] | None:
    """The object in a line; ``None`` where it has not the fields of its kind."""
    try:
        entry = json.loads(line)
        kind = Kind(entry["kind"])
    except (ValueError, TypeError, KeyError):
        return None
    fields = FIELDS[kind]
    if entry.keys() != {"kind", *fields}:
        return None
    return entry if all(isinstance(entry[name], own) for name, own in fields.items()) else None
