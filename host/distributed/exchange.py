"""All-reduce of the gradients of due regions; begun bucket by bucket."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
import torch.distributed as dist

from .all_reduce import SHORT, AllReduce
from .lost import waited_for
from .sent import Sent

__all__ = ["DenseExchange", "Exchange", "Flat", "Pending", "Share", "spread"]


class Share(NamedTuple):
    """Elements that are exchanged.

    Members
    -------
    region : int or None
        Number of the region that they are of; ``None`` for a parameter in no region.
    mean : Tensor
        What this worker contributes.
    average : Tensor
        Where the average over the workers goes; of any shape, and perhaps ``mean`` itself.
    start : int
        The first of them among the elements of their region.
    """

    region: int | None
    mean: torch.Tensor
    average: torch.Tensor
    start: int = 0


class Flat(NamedTuple):
    """Memory of shares, one after the other.

    Members
    -------
    means, averages : Tensor
        Of one dimension; perhaps the same memory, which then has the means no more.
    """

    means: torch.Tensor
    averages: torch.Tensor

    def part(self, start: int, elements: int) -> "Flat":
        """So many elements of both, from one on."""
        return Flat(*(own[start : start + elements] for own in self))


class Pending(Protocol):
    """An exchange under way."""

    def arrived(self) -> bool:
        """True where it is known that :meth:`wait` has nothing to wait for."""

    def wait(self) -> None:
        """Wait for it: the averages are where they belong. It may be called again."""


class Exchange(Protocol):
    """Averages over the workers.

    Members
    -------
    workers, rank : int
        How many they are, and which of them this one is.
    bytes_sent : int
        Bytes that this worker has put into collectives.
    remembers : bool
        What it has left out of an average it adds to the next. So where a region is exchanged
        again in the same step, the average that came back has to be in what is given.
    once : str
        Reason that a region is exchanged no more than once in a step; empty where it may be.
    """

    workers: int
    rank: int
    bytes_sent: int
    remembers: bool
    once: str

    def begin(self, shares: Sequence[Share], flat: Flat | None = None) -> Pending:
        """Begin to average shares, in the order in which all workers do; without waiting.

        Parameters
        ----------
        shares : sequence of Share
            The same on all workers, in number and size; at least one.
        flat : Flat or None
            Memory of all these means and averages, where they lie together.
        """

    def depart(self) -> Exception | None:
        """Say that all of a pass has begun: what has waited for that goes on its way.

        Returns
        -------
        Exception or None
            Why this worker could not send its part. It takes part in all collectives nevertheless.
        """

    def end_pass(self) -> None:
        """Say that the step is decided on of which the oldest pass is that has not ended.

        For exchanges whose passes may be under way while others begin: what has become of the
        pass counts from now on, which is at the same place of the run on all workers.
        """

    def sent(self) -> Mapping[int, Sent] | None:
        """Counts of each region's elements and bits since the last call, in passes that have ended.

        ``None``: regions go whole.
        """

    def close(self) -> None:
        """Let go of modules, and of process groups of its own, once no pass is under way."""

    def state_dict(self) -> dict[str, Any]:
        """State of this worker for a resumed run, beside ``bytes_sent``."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""


class DenseExchange:
    """A sum of all elements for each beginning.

    As DDP does, each is multiplied by 1/W before the sum.

    Parameters
    ----------
    group : ProcessGroup or None
        The workers.

    Members
    -------
    short : int
        As that of :class:`~.all_reduce.AllReduce`.
    """

    remembers = False
    once = ""

    def __init__(self, group: dist.ProcessGroup | None) -> None:
        self.workers = dist.get_world_size(group)
        self.rank = dist.get_rank(group)
        self.bytes_sent = 0
        self.short = SHORT
        self._group = group

    def begin(self, shares: Sequence[Share], flat: Flat | None = None) -> Pending:
        """As :meth:`Exchange.begin`."""
        if flat is None:
            means = torch.cat([share.mean.reshape(-1) for share in shares])
            reduced = means.mul_(1.0 / self.workers)
            averages = [share.average for share in shares]
        else:
            reduced = torch.mul(flat.means, 1.0 / self.workers, out=flat.averages)
            averages = []
        with waited_for("the exchange of gradients"):
            own = AllReduce(reduced, self._group, short=self.short)
        self.bytes_sent += reduced.nbytes
        return _Reduction(reduced, own, averages)

    def depart(self) -> None:
        """As :meth:`Exchange.depart`."""

    def end_pass(self) -> None:
        """As :meth:`Exchange.end_pass`."""

    def sent(self) -> None:
        """As :meth:`Exchange.sent`."""

    def close(self) -> None:
        """As :meth:`Exchange.close`."""

    def state_dict(self) -> dict[str, Any]:
        """As :meth:`Exchange.state_dict`."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As :meth:`Exchange.load_state_dict`."""


@dataclass
class _Reduction:
    """A sum under way, and where its parts belong, if that is elsewhere."""

    flat: torch.Tensor
    sum: AllReduce
    averages: list[torch.Tensor]

    def arrived(self) -> bool:
        return self.sum.arrived()

    def wait(self) -> None:
        with waited_for("the exchange of gradients"):
            self.sum.wait()
        if self.averages:
            spread(self.flat, self.averages)
            self.averages = []


def spread(flat: torch.Tensor, averages: list[torch.Tensor]) -> None:
    """Copy averages that lie one after the other to where they belong."""
    parts = flat.split([average.numel() for average in averages])
    rows = zip(averages, parts, strict=True)
    shaped = [part if own.dim() == 1 else part.view_as(own) for own, part in rows]
    torch._foreach_copy_(averages, shaped)
