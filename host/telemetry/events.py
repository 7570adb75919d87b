"""Events of a training, and what receives them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from adagrain.host.distributed.step_log import StepLog
    from adagrain.host.granular.logs import GranularityLog
    from adagrain.models.statistics import Statistics

__all__ = [
    "EvaluationEvent",
    "PrecisionsEvent",
    "Sink",
    "StatisticsEvent",
    "TensorKind",
]


class TensorKind(StrEnum):
    """The tensor of a region that statistics are of."""

    LOCAL = "local"  #: this worker's gradient, the mean over the region's steps
    AVERAGE = "average"  #: the mean of these over the workers


@dataclass(frozen=True, slots=True)
class StatisticsEvent:
    """A record of statistics that came back from the device.

    Parameters
    ----------
    step : int
        Number of the step, from 0.
    region : str
        Name of the region.
    kind : TensorKind
        Which of its tensors.
    record : Statistics
        What the pass found.
    """

    step: int
    region: str
    kind: TensorKind
    record: "Statistics"


@dataclass(frozen=True, slots=True)
class PrecisionsEvent:
    """Precisions that granular layers have computed in, and decided on, in a step on this worker.

    Parameters
    ----------
    step : int
        Number of the step, from 0; the step's own event has gone before.
    log : GranularityLog
        What they computed and decided.
    """

    step: int
    log: "GranularityLog"


@dataclass(frozen=True, slots=True)
class EvaluationEvent:
    """Quality of a network.

    Parameters
    ----------
    step : int
        Number of the last step before.
    accuracy : float
        Part of the test samples that was right.
    """

    step: int
    accuracy: float


class Sink(Protocol):
    """Receives what happens in a training, on the worker where it happens.

    An error of a sink stops the training, on all workers.
    """

    def statistics(self, event: StatisticsEvent) -> None:
        """Take a record, while the step is under way."""

    def step(self, log: "StepLog") -> None:
        """Take what was agreed on and decided, at the end of a step."""
