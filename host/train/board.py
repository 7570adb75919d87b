"""A run's TensorBoard events."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from torch.utils.tensorboard import SummaryWriter

from adagrain.host.distributed.step_log import StepLog
from adagrain.host.files import closing, writing
from adagrain.host.telemetry.events import EvaluationEvent, PrecisionsEvent
from adagrain.host.telemetry.run_sink import RunSink

from .rows import loss_of, region_rows

__all__ = ["Board"]

#: What is shown of each region that was due.
_FIELDS = ("alpha", "cadence", "local", "average")

#: What is shown of the times of a speculative step.
_TIMES = ("waited", "hidden", "stall")


class Board(RunSink):
    """Shows what people look at of a run's events; a context manager.

    Parameters
    ----------
    folder : Path
        The run's folder.
    workers : int
        W.
    start : int
        Steps that a resumed run has behind it; what was shown of later ones is hidden.

    Raises
    ------
    WriteError
        From here on: if something cannot be written.
    """

    def __init__(self, folder: Path, *, workers: int, start: int = 0) -> None:
        self._workers = workers
        self._path = folder / "events"
        with writing(self._path):
            self._events = SummaryWriter(str(self._path), purge_step=start or None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        with closing(self._path, error):
            self._events.close()

    def step(self, log: StepLog) -> None:
        """Show the loss, each region's energies, agreement, cadence, what was sent, its guesses."""
        loss = loss_of(log)
        if loss is not None:
            self._show("loss", loss, log.step)
        for row in region_rows(log, self._workers):
            for field in _FIELDS:
                self._show(f"{field}/{row['name']}", row[field], log.step)
            if "guesses" in row:
                self._guesses(row, log.step)
        if log.flown is not None:
            self._show("passes_redone", log.flown.passes_redone, log.step)
            for name in _TIMES:
                self._show(name, getattr(log.flown, name), log.step)
        for name, sent in (log.sent or {}).items():
            self._show(f"density/{name}", sent.density, log.step)
            if (bits := sent.bits_per_nonzero) is not None:
                self._show(f"bits_per_nonzero/{name}", bits, log.step)

    def precisions(self, event: PrecisionsEvent) -> None:
        """Show each channel group's bits, and the normalised variance that it saw."""
        for log in event.log.channel_groups:
            self._show(f"bits/{log.name}", log.precision.bits, event.step)
            self._show(f"normalised_variance/{log.name}", log.normalised_variance, event.step)

    def evaluation(self, event: EvaluationEvent) -> None:
        """Show the accuracy on the test part."""
        self._show("accuracy", event.accuracy, event.step)

    def flush(self) -> None:
        """Have everything on the disk."""
        with writing(self._path):
            self._events.flush()

    def _guesses(self, row: Mapping[str, Any], step: int) -> None:
        """Show a region's state, the gain of its next guess, and what became of the last ones."""
        self._show(f"state/{row['name']}", row["decision"]["state"], step)
        self._show(f"gain/{row['name']}", row["decision"]["gain"], step)
        for name, count in row["guesses"].items():
            self._show(f"{name}/{row['name']}", count, step)

    def _show(self, name: str, value: float, step: int) -> None:
        with writing(self._path):
            self._events.add_scalar(name, value, step)
