"""Has sinks hear of a step first, and of its precisions after that."""

from typing import TYPE_CHECKING

from .events import EvaluationEvent, PrecisionsEvent, StatisticsEvent
from .run_sink import RunSink

if TYPE_CHECKING:
    from adagrain.host.distributed.step_log import StepLog

__all__ = ["Pairing"]


class Pairing(RunSink):
    """Passes events on; what layers computed in waits for its step, whose update may be in flight.

    Parameters
    ----------
    sink : RunSink
        Who is told.
    """

    def __init__(self, sink: RunSink) -> None:
        self._sink = sink
        self._told = -1
        self._waiting: list[PrecisionsEvent] = []

    def statistics(self, event: StatisticsEvent) -> None:
        """Pass a record on."""
        self._sink.statistics(event)

    def step(self, log: "StepLog") -> None:
        """Pass a step on, and what has waited for it."""
        self._sink.step(log)
        self._told = log.step
        self._pass_on()

    def precisions(self, event: PrecisionsEvent) -> None:
        """Pass on what layers computed in, as soon as their step has been told of."""
        self._waiting.append(event)
        self._pass_on()

    def evaluation(self, event: EvaluationEvent) -> None:
        """Pass an evaluation on."""
        self._sink.evaluation(event)

    def flush(self) -> None:
        """Have the sink on the disk."""
        self._sink.flush()

    def _pass_on(self) -> None:
        while self._waiting and self._waiting[0].step <= self._told:
            self._sink.precisions(self._waiting.pop(0))
