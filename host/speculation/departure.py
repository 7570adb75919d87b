"""The departure of a step: its gradients begin their way over the workers, bucket by bucket."""

import time
from collections.abc import Callable, Sequence

import torch
from torch import nn

from adagrain.host.distributed.stages import Stages
from adagrain.host.distributed.step import Pass, Step

from .buckets import Bucket
from .flight import Departed

__all__ = ["Departure"]


class Departure:
    """Begins the exchange of buckets in their order, each when all its gradients are ready.

    With the first of them the step is committed: whoever calls :meth:`go` knows that no update is
    missing that the step must have, and that nothing can void the gradients any more.

    Parameters
    ----------
    buckets : sequence of Bucket
        All of them, in the order of their collectives; those of no region belong to controllers.
    stages : Stages
        Exchange and agreement.
    compare : callable
        Called in front of the first contribution: the workers are compared.
    place : int
        Which of the accumulators' averages are the step's own.

    Members
    -------
    step : Step or None
        The step, as the stages know it; ``None`` before the first contribution.
    departed : list of Departed
        Exchanges that have begun, of regions; there are none of buckets with no region that is due.
    gradients : dict
        What this worker has contributed, by parameter.
    ready_after : dict
        Parameters whose gradient is ready → seconds since the backward pass began.
    """

    def __init__(
        self,
        buckets: Sequence[Bucket],
        stages: Stages,
        compare: Callable[[], None],
        place: int,
    ) -> None:
        self.step: Step | None = None
        self.departed: list[Departed] = []
        self.gradients: dict[nn.Parameter, torch.Tensor] = {}
        self._begun = 0
        self._buckets = buckets
        self._stages = stages
        self._compare = compare
        self._place = place
        self._places = {p: at for at, bucket in enumerate(buckets) for p in bucket.parameters}
        self.expect()

    def expect(self) -> None:
        """Say that no gradient is ready: a backward pass begins."""
        self._began = time.perf_counter()
        self.ready_after: dict[nn.Parameter, float] = {}
        self._missing = [len(bucket.parameters) for bucket in self._buckets]

    def ready(self, parameter: nn.Parameter) -> None:
        """Say that a parameter has got its gradient.

        Raises
        ------
        RuntimeError
            If it had got one before, which has departed.
        """
        if parameter in self.gradients:
            raise RuntimeError(
                "each parameter must get its gradient at one time in a backward pass, but one has "
                "got more of it after the exchange had begun: an operation runs a backward pass "
                "of its own"
            )
        if parameter not in self.ready_after:
            self.ready_after[parameter] = time.perf_counter() - self._began
            self._missing[self._places[parameter]] -= 1

    def go(self, gradient: Callable[[nn.Parameter], torch.Tensor]) -> None:
        """Begin the exchange of all buckets that are ready, up to the first one that is not.

        Parameters
        ----------
        gradient : callable
            Gives what this worker contributes for a parameter, the sum over the step's passes.

        Raises
        ------
        DisagreementError, WorkerFailedError, WorkerLostError
            If the workers cannot go on together.
        """
        while self._begun < len(self._buckets) and not self._missing[self._begun]:
            self._begin(self._buckets[self._begun], gradient)

    def fail(self, error: Exception) -> None:
        """Begin all that has not begun, without gradients: this worker cannot end the step."""
        self._open().current.fail(error)
        for bucket in self._buckets[self._begun :]:
            self._begin(bucket, torch.zeros_like)

    def agree(self) -> None:
        """Begin the agreement, behind the last bucket."""
        self._stages.agree.begin(self._open())

    def _open(self) -> Step:
        """The step; the workers are compared before it begins."""
        if self.step is None:
            self._compare()
            self.step = Step(self._stages.clock.step, current=Pass(place=self._place))
        return self.step

    def _begin(self, bucket: Bucket, gradient: Callable[[nn.Parameter], torch.Tensor]) -> None:
        step, gather = self._open(), self._stages.gather
        for parameter in bucket.parameters:
            self.gradients[parameter] = own = gradient(parameter)
            gather.add(step, parameter, own)
        self._begun += 1
        pending = gather.begin_exchange(step.current, bucket.parameters, None)
        if pending is not None and bucket.regions:
            due = [region for region in bucket.regions if self._stages.clock.is_due(region)]
            self.departed.append(Departed(due, pending))
