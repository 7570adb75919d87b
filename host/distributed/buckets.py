"""DDP's buckets in a backward pass: taken as they get ready, and answered for at its end."""

from functools import partial
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from adagrain.host.regions.regions import trainable

from .bucket_passes import BucketPasses
from .bundle import Bundle
from .ddp_hooks import behind_ddp, gradients_of
from .guard import Guard
from .reducer import RegionReducer
from .steps import Steps
from .watch import Watch

__all__ = ["Buckets"]


class Buckets:
    """Hands buckets to a reducer, and what comes back to DDP.

    Parameters
    ----------
    model : DistributedDataParallel
        Whose buckets they are.
    reducer : RegionReducer
        Averages their regions.
    steps : Steps
        Knows whether a pass fits the steps of the optimizers.
    watch : Watch
        Is told when gradients have been exchanged.
    guard : Guard
        Has to know the buckets.
    """

    def __init__(
        self,
        model: DistributedDataParallel,
        reducer: RegionReducer,
        steps: Steps,
        watch: Watch,
        guard: Guard,
    ) -> None:
        self._model = model
        self._reducer = reducer
        self._steps = steps
        self._watch = watch
        self._guard = guard
        self._passes = BucketPasses(model, trainable(model).values())
        self._waiting: list[_Waiting] = []

    def take(self, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """Take a bucket; after the last one, end the pass and answer for all of them."""
        place = self._passes.place(bucket)
        if place.is_first:
            self._begin_pass()
        parameters, flat, bundle = bucket.parameters(), bucket.buffer(), None
        self._guard.note(parameters)
        try:
            if flat.is_sparse:
                raise TypeError("gradients must be dense, but one of an embedding is sparse")
            bundle = self._reducer.add_together(parameters, partial(gradients_of, bucket), flat)
        except Exception as error:
            self._reducer.fail(error)
        self._reducer.begin_exchange(parameters, bundle)
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        self._waiting.append(_Waiting(bucket, bundle, future))
        if place.is_last:
            self._end_pass()
        return future

    def _begin_pass(self) -> None:
        if self._model._join_config.enable:
            raise NotImplementedError(
                "DistributedDataParallel.join does not work with adagrain: a worker without data "
                "has no gradients to decide from; give all workers as many batches"
            )
        self._waiting = []
        self._guard.begin_pass()
        self._reducer.begin_pass()
        try:
            self._steps.check_pass()
            self._reducer.check_pass()
        except RuntimeError as error:
            self._reducer.fail(error)

    def _end_pass(self) -> None:
        self._reducer.end_pass()
        for bucket, bundle, future in self._waiting:
            if bundle is not None:
                future.set_result(self._reducer.averages_together(bundle))
                continue
            for parameter, gradient in zip(bucket.parameters(), gradients_of(bucket), strict=True):
                self._reducer.write_back(parameter, gradient)
            future.set_result(bucket.buffer())
        behind_ddp(self._passed)

    def _passed(self) -> None:
        """The gradients are where the optimizer finds them."""
        if self._model.find_unused_parameters or self._model.static_graph:
            self._reducer.restore()
        self._watch.exchanged()
        self._steps.passed()


class _Waiting(NamedTuple):
    """A bucket whose answer is awaited."""

    bucket: dist.GradBucket
    bundle: Bundle | None
    future: torch.futures.Future[torch.Tensor]
