"""Keeps the history of a run while it runs."""

from adagrain.host.distributed.step_log import StepLog
from adagrain.host.telemetry.events import EvaluationEvent, PrecisionsEvent
from adagrain.host.telemetry.run_sink import RunSink

from .history import History
from .rows import channel_group_rows, loss_of, region_rows

__all__ = ["Recorder"]


class Recorder(RunSink):
    """Adds a run's events to its history, from which its picture is drawn.

    Parameters
    ----------
    history : History
        What happened before, if the run was resumed.
    workers : int
        W.
    """

    def __init__(self, history: History, *, workers: int) -> None:
        self._history = history
        self._workers = workers

    def step(self, log: StepLog) -> None:
        """Add a step."""
        rows = region_rows(log, self._workers)
        sent = log.bytes_sent if log.sent is not None else None
        self._history.add_step(
            *(log.step, loss_of(log), rows, len(log.dropped)), bytes_sent=sent, flown=log.flown
        )

    def precisions(self, event: PrecisionsEvent) -> None:
        """Add what layers computed in."""
        rows = channel_group_rows(event.log)
        self._history.add_precisions(event.step, event.log.bit_operations, rows)

    def evaluation(self, event: EvaluationEvent) -> None:
        """Add an evaluation."""
        self._history.add_evaluation(event.step, event.accuracy)
