"""Sinks of a training's events: a callable, a file of JSON lines, TensorBoard."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from adagrain.host.files import writing
from adagrain.host.json_lines import append_json_lines

from .events import StatisticsEvent

if TYPE_CHECKING:
    from adagrain.host.distributed.step_log import StepLog

__all__ = ["JsonLinesSink", "LogSink", "TensorBoardSink"]


class LogSink:
    """Calls a function with the :class:`StepLog` of each step.

    Parameters
    ----------
    log : callable
        The function.
    """

    def __init__(self, log: "Callable[[StepLog], object]") -> None:
        self._log = log

    def statistics(self, event: StatisticsEvent) -> None:
        """Nothing: the log of a step has what follows from it."""

    def step(self, log: "StepLog") -> None:
        """Call the function."""
        self._log(log)


class JsonLinesSink:
    """Writes a line of JSON for each record, and for each step; a context manager.

    Parameters
    ----------
    path : Path or str
        The file; lines are appended, behind the last whole one.

    Raises
    ------
    ValueError
        If the file ends in something else than JSON; what is written after :meth:`close`.
    WriteError
        If a line cannot be written.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._file = append_json_lines(self._path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def statistics(self, event: StatisticsEvent) -> None:
        """Write a record's fields; histograms are left out where there are none."""
        record = {k: v for k, v in asdict(event.record).items() if v is not None}
        self._write(
            event="statistics", step=event.step, region=event.region, kind=event.kind, record=record
        )

    def step(self, log: "StepLog") -> None:
        """Write what was agreed on and decided."""
        line: dict[str, Any] = asdict(log)
        if log.sent is not None:
            line["sent"] = {name: own._asdict() for name, own in log.sent.items()}
        self._write(event="step", **line)

    def close(self) -> None:
        """End the file."""
        self._file.close()

    def _write(self, **line: Any) -> None:
        if self._file.closed:
            raise ValueError(f"the sink of {self._path} must not be used after close()")
        with writing(self._path):
            self._file.write(json.dumps(line, default=int) + "\n")


class TensorBoardSink:
    """Shows norms and largest exponents of each region's tensors; a context manager.

    Parameters
    ----------
    folder : Path or str
        Where the events go.

    Raises
    ------
    ValueError
        What is shown after :meth:`close`.
    WriteError
        If an event cannot be written.
    """

    def __init__(self, folder: Path | str) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._folder = Path(folder)
        self._is_closed = False
        with writing(self._folder):
            self._events = SummaryWriter(str(folder))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def statistics(self, event: StatisticsEvent) -> None:
        """Show what a record says of the size of the region's elements."""
        for name in ("l2_norm", "largest_exponent"):
            value = float(getattr(event.record, name))
            self._show(f"{event.kind}_{name}/{event.region}", value, event.step)

    def step(self, log: "StepLog") -> None:
        """Show each region's cadence."""
        for region, decision in log.decisions.items():
            self._show(f"cadence/{region}", 1 << decision["cadence"], log.step)

    def close(self) -> None:
        """Write what is left."""
        self._is_closed = True
        with writing(self._folder):
            self._events.close()

    def _show(self, name: str, value: float, step: int) -> None:
        if self._is_closed:  # a writer would begin another file
            raise ValueError(f"the sink of {self._folder} must not be used after close()")
        with writing(self._folder):
            self._events.add_scalar(name, value, step)
