"""The departure of a step: its gradients begin their way over the workers, bucket by bucket."""

import time
from collections.abc import Callable, Sequence

import torch
from torch import nn

from adagrain.host.distributed.lockstep import Lockstep
from adagrain.host.distributed.stages import Stages
from adagrain.host.distributed.step import Step

from .buckets import Bucket
from .flight import Departed

__all__ = ["Departure"]


class Departure:
    """Begins the exchange of buckets in their order, each when all its gradients are ready.

    With the first of them the step is committed: whoever calls :meth:`go` knows that no guess is
    unresolved, and that nothing can void the gradients any more.

    Parameters
    ----------
    buckets : sequence of Bucket
        All of them, in the order of their collectives.
    stages : Stages
        Exchange and agreement.
    lockstep : Lockstep
        Compares the workers in front of the first contribution.

    Members
    -------
    step : Step or None
        The step, as the stages know it; ``None`` before the first contribution.
    departed : list of Departed
        Buckets whose exchange has begun.
    gradients : dict
        What this worker has contributed, by parameter.
    waited : float
        Seconds that were waited for the comparison of the workers.
    """

    def __init__(self, buckets: Sequence[Bucket], stages: Stages, lockstep: Lockstep) -> None:
        self.step: Step | None = None
        self.departed: list[Departed] = []
        self.gradients: dict[nn.Parameter, torch.Tensor] = {}
        self.waited = 0.0
        self._buckets = buckets
        self._stages = stages
        self._lockstep = lockstep
        self._places = {p: at for at, bucket in enumerate(buckets) for p in bucket.parameters}
        self.expect()

    def expect(self) -> None:
        """Say that no gradient is ready: a backward pass begins."""
        self._ready: set[nn.Parameter] = set()
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
        if parameter not in self._ready:
            self._ready.add(parameter)
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
        while (at := len(self.departed)) < len(self._buckets) and not self._missing[at]:
            self._begin(self._buckets[at], gradient)

    def fail(self, error: Exception) -> None:
        """Begin all that has not begun, without gradients: this worker cannot end the step."""
        self._open().current.fail(error)
        for bucket in self._buckets[len(self.departed) :]:
            self._begin(bucket, torch.zeros_like)

    def agree(self) -> None:
        """Begin the agreement, behind the last bucket."""
        self._stages.agree.begin(self._open())

    def _open(self) -> Step:
        """The step; the workers are compared before it begins."""
        if self.step is None:
            began = time.perf_counter()
            self._lockstep.check(lambda: self._stages.standing(0))
            self.waited += time.perf_counter() - began
            self.step = Step(self._stages.clock.step)
        return self.step

    def _begin(self, bucket: Bucket, gradient: Callable[[nn.Parameter], torch.Tensor]) -> None:
        step, gather = self._open(), self._stages.gather
        for parameter in bucket.parameters:
            self.gradients[parameter] = own = gradient(parameter)
            gather.add(step, parameter, own)
        pending = gather.begin_exchange(step.current, bucket.parameters, None)
        assert pending is not None  # each region is due in every step
        self.departed.append(Departed(bucket, pending))
