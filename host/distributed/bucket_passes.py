"""Beginning and end of backward passes, by the buckets that come."""

from collections.abc import Iterable
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

__all__ = ["BucketPasses", "Place"]


class Place(NamedTuple):
    """Place of a bucket in its pass."""

    is_first: bool
    is_last: bool


class BucketPasses:
    """Tells which buckets are the first and the last ones of their pass.

    DDP says it by their indices, but not in the first pass of a static graph: there it has a bucket
    for each type of parameters, of which each is the first one by its index, and none the last.

    Parameters
    ----------
    model : DistributedDataParallel
        Whose buckets they are.
    parameters : iterable of Tensor
        All that buckets have.
    """

    def __init__(self, model: DistributedDataParallel, parameters: Iterable[torch.Tensor]) -> None:
        self._model = model
        self._all = {id(parameter) for parameter in parameters}
        self._seen: set[int] = set()

    def place(self, bucket: dist.GradBucket) -> Place:
        """Place of the next bucket; one with parameters that were there begins another pass."""
        if not self._model.static_graph:
            return Place(bucket.index() == 0, bucket.is_last())
        own = {id(parameter) for parameter in bucket.parameters()}
        is_first = not self._seen or not self._seen.isdisjoint(own)
        self._seen = own if is_first else self._seen | own
        return Place(is_first, bucket.is_last() or self._all <= self._seen)
