"""What a run writes while it runs: JSON lines, and TensorBoard events beside them."""

import json
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from torch.utils.tensorboard import SummaryWriter

from adagrain.host.distributed.reducer import StepLog
from adagrain.host.granular import GranularityLog
from adagrain.models.interface.units.region_manager import SpeculationState

from .files import replace_text, writing

__all__ = ["METRICS", "Metrics", "loss_of"]

_log = logging.getLogger("adagrain")

#: Name of the file in a run's folder.
METRICS = "metrics.jsonl"


class Metrics:
    """A run's log; a context manager.

    Every step is one line with everything that the workers agreed on and decided, which is also
    what ``--timing replay:FILE`` reads. Evaluations are lines of their own.

    Parameters
    ----------
    folder : Path
        The run's folder.
    workers : int
        W.
    start : int
        Steps that a resumed run has behind it; lines from there on, and those that cannot be
        read, are dropped.

    Raises
    ------
    WriteError
        From here on: if something cannot be written.
    """

    def __init__(self, folder: Path, *, workers: int, start: int = 0) -> None:
        self._workers = workers
        self._path = folder / METRICS
        if self._path.exists():
            _cut(self._path, start)
        with writing(self._path):
            self._file = self._path.open("a")
        self._events_path = folder / "events"
        with writing(self._events_path):
            self._events = SummaryWriter(str(self._events_path), purge_step=start or None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        with suppress(OSError) if error else writing(self._path):
            self._file.close()
        with suppress(OSError) if error else writing(self._events_path):
            self._events.close()

    def flush(self) -> None:
        """Have everything on the disk; before a checkpoint."""
        with writing(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
        with writing(self._events_path):
            self._events.flush()

    def step(self, log: StepLog, precisions: GranularityLog | None = None) -> None:
        """Write a step's line, and events for what people look at.

        Parameters
        ----------
        log : StepLog
            What the workers agreed on and decided.
        precisions : GranularityLog or None
            What this worker's layers computed in, and decided.
        """
        loss = loss_of(log)
        rows = [self._row(name, log) for name in log.updates]
        line: dict[str, Any] = {
            "step": log.step,
            "loss": loss,
            "stall": log.agreed.stall,
            "redo": log.agreed.redo,
            "dropped": list(log.dropped),
            "regions": rows,
        }
        if precisions:
            line["precisions"] = self._precisions(log.step, precisions)
        self._write(line)
        if loss is not None:
            self._show("loss", loss, log.step)
        for row in rows:
            for field in ("alpha", "cadence", "local", "average"):
                self._show(f"{field}/{row['name']}", row[field], log.step)

    def evaluation(self, step: int, accuracy: float) -> None:
        """Write the accuracy on the test part."""
        self._write({"step": step, "accuracy": accuracy})
        self._show("accuracy", accuracy, step)

    def _row(self, name: str, log: StepLog) -> dict[str, Any]:
        update, decision, unit = log.updates[name], log.decisions[name], log.units[name]
        return {
            "name": name,
            "local": update["a"] * unit / self._workers,
            "average": update["n"] * unit,
            "alpha": decision["alpha"] / 65536,
            "cadence": 1 << decision["cadence"],
            "state": SpeculationState(decision["state"]).name,
            "update": {key: int(value) for key, value in update.items()},
            "decision": decision,
        }

    def _precisions(self, step: int, log: GranularityLog) -> dict[str, Any]:
        for unit in log.units:
            self._show(f"bits/{unit.name}", unit.precision.bits, step)
            self._show(f"spread/{unit.name}", unit.spread, step)
        units = [
            vars(unit) | {"precision": unit.precision.name, "wanted": unit.wanted.name}
            for unit in log.units
        ]
        work = {precision.name: count for precision, count in log.work.items()}
        return {"work": work, "bit_operations": log.bit_operations, "units": units}

    def _write(self, line: dict[str, Any]) -> None:
        with writing(self._path):
            self._file.write(json.dumps(line) + "\n")

    def _show(self, name: str, value: float, step: int) -> None:
        with writing(self._events_path):
            self._events.add_scalar(name, value, step)


def loss_of(log: StepLog) -> float | None:
    """Mean loss over the workers; none where one's was not finite."""
    return None if log.agreed.loss is None else log.agreed.loss / (1 << 16)


def _cut(path: Path, start: int) -> None:
    """Drop lines from a step on, and those that cannot be read, as a full disk leaves one."""
    lines = path.read_text(errors="replace").splitlines()
    steps = [_step_of(line) for line in lines]
    if unreadable := steps.count(None):
        _log.warning("%s: %d lines could not be read, and were dropped", path, unreadable)
    kept = [
        line for line, step in zip(lines, steps, strict=True) if step is not None and step < start
    ]
    replace_text(path, "".join(f"{line}\n" for line in kept))


def _step_of(line: str) -> int | None:
    """The step that a line is of; none where it cannot be read."""
    try:
        return int(json.loads(line)["step"])
    except (ValueError, TypeError, KeyError):
        return None
