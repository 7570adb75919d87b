"""All-reduce of the gradients of due regions, whatever buckets they come in."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist

from .exchange import DenseExchange, Flat, Pending, Share
from .groups import Groups

__all__ = ["GroupedExchange"]


class GroupedExchange(DenseExchange):
    """A sum for each of the :class:`~.groups.Groups` of regions, not for each beginning.

    One goes when all of its regions have begun; what is not due with the others, when the pass
    departs. So a resumed run has the sums that it would have had, of any number of workers.
    Parameters in no region have no place among these: they go as they begin.

    Parameters
    ----------
    group : ProcessGroup or None
        The workers.
    sizes : sequence of int
        Elements of each region, by its number.
    """

    def __init__(self, group: dist.ProcessGroup | None, sizes: Sequence[int]) -> None:
        super().__init__(group)
        self._groups = Groups(sizes)
        self._waiting: list[Share] = []
        self._begun: list[Pending] = []

    def begin(self, shares: Sequence[Share], flat: Flat | None = None) -> Pending:
        """As :meth:`Exchange.begin`."""
        if alone := [share for share in shares if share.region is None]:
            self._begun.append(super().begin(alone))
        self._waiting += [share for share in shares if share.region is not None]
        self._go(everything=False)
        return _Together(self._begun)

    def depart(self) -> None:
        """As :meth:`Exchange.depart`."""
        self._go(everything=True)
        self._begun = []

    def _go(self, *, everything: bool) -> None:
        """Sum groups that are there whole, or all that is there."""
        for shares in self._groups.take(self._waiting, everything=everything):
            for alike in _alike(shares):
                self._begun.append(super().begin(alike))


@dataclass
class _Together:
    """All sums of a pass, once it has departed."""

    begun: list[Pending]

    def arrived(self) -> bool:
        return all(own.arrived() for own in self.begun)

    def wait(self) -> None:
        for own in self.begun:
            own.wait()


def _alike(shares: Sequence[Share]) -> list[list[Share]]:
    """Shares of one type, on one processor, each."""
    found: dict[tuple[torch.dtype, torch.device], list[Share]] = {}
    for share in shares:
        found.setdefault((share.mean.dtype, share.mean.device), []).append(share)
    return [*found.values()]
