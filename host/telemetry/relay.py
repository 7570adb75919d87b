"""Several sinks as one."""

from typing import TYPE_CHECKING

from .events import EvaluationEvent, PrecisionsEvent, StatisticsEvent
from .run_sink import RunSink

if TYPE_CHECKING:
    from adagrain.host.distributed.step_log import StepLog

__all__ = ["Relay"]


class Relay(RunSink):
    """Passes each event on to all sinks that were added until then, in that order."""

    def __init__(self) -> None:
        self._sinks: list[RunSink] = []

    def add(self, sink: RunSink) -> None:
        """Have one more sink told of what happens from now on."""
        self._sinks.append(sink)

    def statistics(self, event: StatisticsEvent) -> None:
        """Pass a record on."""
        for sink in self._sinks:
            sink.statistics(event)

    def step(self, log: "StepLog") -> None:
        """Pass a step on."""
        for sink in self._sinks:
            sink.step(log)

    def precisions(self, event: PrecisionsEvent) -> None:
        """Pass on what layers computed in."""
        for sink in self._sinks:
            sink.precisions(event)

    def evaluation(self, event: EvaluationEvent) -> None:
        """Pass an evaluation on."""
        for sink in self._sinks:
            sink.evaluation(event)

    def flush(self) -> None:
        """Have all of them on the disk."""
        for sink in self._sinks:
            sink.flush()
