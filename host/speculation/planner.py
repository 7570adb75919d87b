"""Planner of the buckets: of a given size, or chosen after the first steps."""

import zlib
from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from adagrain.host.distributed.all_reduce import AllReduce
from adagrain.host.distributed.lost import waited_for
from adagrain.host.regions.regions import Regions

from .buckets import Bucket, buckets_of, divided, kind_of
from .course import Course
from .link import Link
from .plan import planned

__all__ = ["Planner"]

#: Steps whose backward passes are watched before the buckets are chosen.
_WATCHED = 3

#: Most bytes of a bucket of several regions until then.
_BYTES = 1 << 20


class Planner:
    """Chooses the buckets, once, from what the link and the backward pass of this model are like.

    When the gradients of each region are ready the workers tell each other behind the agreement of
    the third step. From the same figures each comes to the same buckets.

    Parameters
    ----------
    regions : Regions
        The regions.
    bucket_bytes : int or None
        As in :class:`~.options.SpeculationOptions`.
    link : Link or None
        What was measured; ``None`` where buckets are given, or those of a recording.
    group : ProcessGroup
        The workers, for integers.
    course : Course
        Knows what was chosen, or is told.
    """

    def __init__(
        self,
        regions: Regions,
        bucket_bytes: int | None,
        link: Link | None,
        group: dist.ProcessGroup,
        course: Course,
    ) -> None:
        self._regions = regions
        self._link = link
        self._group = group
        self._course = course
        self._is_given = bucket_bytes is not None
        self._buckets = buckets_of(regions, bucket_bytes or _BYTES)
        self._left = 0 if self._is_given else _WATCHED
        self._ready: list[int] = []
        self._telling: tuple[torch.Tensor, AllReduce] | None = None

    @property
    def buckets(self) -> list[Bucket]:
        """The buckets of the next step; waits, once, for what the others have to tell."""
        if self._telling is not None:
            told, under_way = self._telling
            with waited_for("the choice of buckets"):
                under_way.wait()
            self._telling = None
            self._choose([microseconds / 1e6 for microseconds in told.tolist()])
        return self._buckets

    @property
    def named(self) -> list[list[str]]:
        """The regions of :attr:`buckets`, by name."""
        return [[self._regions[region].name for region in own.regions] for own in self.buckets]

    @property
    def checksum(self) -> int:
        """Checksum of the buckets and of when they change; it must be equal on all workers."""
        counts = [len(own.regions) for own in self._buckets]
        return zlib.crc32(repr((self._left, counts)).encode())

    def watch(self, ready: Mapping[nn.Parameter, float]) -> None:
        """Take note of a step.

        Parameters
        ----------
        ready : mapping
            By parameter: seconds from the beginning of the backward pass to its gradient.
        """
        if self._left:
            times = [
                round(1e6 * max(ready[part.parameter] for part in region.slices))
                for region in reversed(self._regions)
            ]
            self._ready = [*map(min, times, self._ready or times)]

    def tell(self) -> None:
        """Behind the agreement of each step: tell the others, if it is time."""
        if not self._left:
            return
        self._left -= 1
        if not self._left:
            own = torch.tensor(self._ready or [0] * len(self._regions))
            with waited_for("the choice of buckets"):
                self._telling = own, AllReduce(own, self._group, dist.ReduceOp.MAX)

    def state_dict(self) -> dict[str, Any]:
        """Number of regions in each bucket, if that was chosen."""
        is_chosen = not self._is_given and not self._left
        return {"buckets": [len(own.regions) for own in self.buckets] if is_chosen else None}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave; given buckets stay as they are.

        Raises
        ------
        ValueError
            If it is of other regions.
        """
        counts = state["buckets"]
        if self._is_given or counts is None:
            return
        if sum(counts) != len(self._regions):
            raise ValueError(
                f"state must be of {len(self._regions)} regions in buckets, not of {sum(counts)}"
            )
        self._left, self._telling = 0, None
        self._buckets = divided(self._regions, counts)

    def _choose(self, ready: list[float]) -> None:
        counts = self._course.plan(lambda: self._planned(ready))
        self._buckets = divided(self._regions, counts)
        self._course.planned(self.named)

    def _planned(self, ready: list[float]) -> list[int]:
        assert self._link is not None
        order = [*reversed(self._regions)]
        kinds = [kind_of(region) for region in order]
        sizes = [region.numel * kind[0].itemsize for region, kind in zip(order, kinds, strict=True)]
        breaks = [at for at in range(1, len(order)) if kinds[at] != kinds[at - 1]]
        return planned(sizes, ready, self._link, breaks)
