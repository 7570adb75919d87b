"""Has sinks hear of a step first, and of its precisions after that."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from adagrain.host.granular.logs import GranularityLog

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

    Members
    -------
    told : int
        Steps that it has been told of, from the first on.
    """

    def __init__(self, sink: RunSink) -> None:
        self._sink = sink
        self.told = 0
        self._waiting: list[PrecisionsEvent] = []

    def statistics(self, event: StatisticsEvent) -> None:
        """Pass a record on."""
        self._sink.statistics(event)

    def step(self, log: "StepLog") -> None:
        """Pass a step on, and what has waited for it."""
        self._sink.step(log)
        self.told = log.step + 1
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

    def state_dict(self) -> dict[str, Any]:
        """State for a resumed run, which is told of the other steps anew."""
        waiting = [{"step": own.step, "log": own.log.state_dict()} for own in self._waiting]
        return {"told": self.told, "waiting": waiting}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""
        self.told = state["told"]
        self._waiting = [
            PrecisionsEvent(own["step"], GranularityLog.restored(own["log"]))
            for own in state["waiting"]
        ]

    def _pass_on(self) -> None:
        while self._waiting and self._waiting[0].step < self.told:
            self._sink.precisions(self._waiting.pop(0))
