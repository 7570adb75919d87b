"""Sink of the events of a run."""

from typing import TYPE_CHECKING

from .events import EvaluationEvent, PrecisionsEvent, StatisticsEvent

if TYPE_CHECKING:
    from adagrain.host.distributed.step_log import StepLog

__all__ = ["RunSink"]


class RunSink:
    """A sink that is told of all that happens in a run, of which the reducer knows a part.

    This one passes over everything; those that inherit take what they override.
    """

    def statistics(self, event: StatisticsEvent) -> None:
        """Take a record, while the step is under way."""

    def step(self, log: "StepLog") -> None:
        """Take what was agreed on and decided, at the end of a step."""

    def precisions(self, event: PrecisionsEvent) -> None:
        """Take what layers computed in, after the step in which they did."""

    def evaluation(self, event: EvaluationEvent) -> None:
        """Take what the network is worth."""

    def flush(self) -> None:
        """Have everything on the disk; before a checkpoint."""
