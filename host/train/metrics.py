"""A run's log: JSON lines."""

import json
import logging
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from adagrain.host.distributed.step_log import StepLog
from adagrain.host.files import closing, replace_text, writing
from adagrain.host.telemetry.events import EvaluationEvent, PrecisionsEvent
from adagrain.host.telemetry.run_sink import RunSink

from .rows import channel_group_rows, loss_of, region_rows

__all__ = ["METRICS", "Metrics", "step_of"]

_log = logging.getLogger("adagrain")

#: Name of the file in a run's folder.
METRICS = "metrics.jsonl"


class Metrics(RunSink):
    """Writes a run's events as lines of JSON; a context manager.

    Every step is one line with everything that the workers agreed on and decided, which is also
    what ``--timing replay:FILE`` reads. Evaluations are lines of their own.

    Parameters
    ----------
    folder : Path
        The run's folder.
    start, told : int
        Steps that a resumed run has behind it, and how many of them it is not told of again. Lines
        of others, of evaluations from ``start`` on, and those that cannot be read, are dropped.
    workers : int
        W.
    granular : bool
        Layers choose their precisions: a step's line waits for what they computed in.

    Raises
    ------
    WriteError
        From here on: if something cannot be written.
    """

    def __init__(
        self, folder: Path, start: int = 0, told: int = 0, *, workers: int, granular: bool = False
    ) -> None:
        self._workers = workers
        self._granular = granular
        self._waiting: dict[str, Any] = {}
        self._path = folder / METRICS
        if self._path.exists():
            _cut(self._path, start, told)
        with writing(self._path):
            self._file = self._path.open("a")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        with closing(self._path, error):
            self._file.close()

    def step(self, log: StepLog) -> None:
        """Write what was agreed on and decided."""
        line: dict[str, Any] = {
            "step": log.step,
            "loss": loss_of(log),
            "stall": log.agreed.stall,
            "redo": log.agreed.redo,
            "dropped": list(log.dropped),
            "regions": region_rows(log, self._workers),
        }
        if log.sent is not None:
            line["bytes_sent"] = log.bytes_sent
        if log.flown is not None:
            line["flown"] = asdict(log.flown)
        if self._granular:
            self._waiting = line
        else:
            self._write(line)

    def precisions(self, event: PrecisionsEvent) -> None:
        """Write the step's line, with what this worker's layers computed in, and decided."""
        found = {
            "work": {precision.name: count for precision, count in event.log.work.items()},
            "bit_operations": event.log.bit_operations,
            "channel_groups": channel_group_rows(event.log),
        }
        self._write(self._waiting | {"precisions": found})

    def evaluation(self, event: EvaluationEvent) -> None:
        """Write the accuracy on the test part."""
        self._write({"step": event.step, "accuracy": event.accuracy})

    def flush(self) -> None:
        """Have all lines on the disk."""
        with writing(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())

    def _write(self, line: dict[str, Any]) -> None:
        with writing(self._path):
            self._file.write(json.dumps(line) + "\n")


def _cut(path: Path, start: int, told: int) -> None:
    """Drop lines that a resumed run writes again, and those that cannot be read.

    A full disk leaves one of these.
    """
    lines = path.read_text(errors="replace").splitlines()
    steps = [step_of(line) for line in lines]
    if unreadable := steps.count(None):
        _log.warning("%s: %d lines could not be read, and were dropped", path, unreadable)
    kept = [
        line
        for line, step in zip(lines, steps, strict=True)
        if step is not None and step < (start if "accuracy" in json.loads(line) else told)
    ]
    replace_text(path, "".join(f"{line}\n" for line in kept))


def step_of(line: str) -> int | None:
    """The step that a line is of; none where it cannot be read."""
    try:
        return int(json.loads(line)["step"])
    except (ValueError, TypeError, KeyError, OverflowError):
        return None
