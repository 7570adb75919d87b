"""The one vector of integers that the workers sum in every step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist

from .exchange import waited_for

__all__ = ["PER_REGION", "Agreed", "agree"]

#: What each region contributes; 0 where it is not due.
PER_REGION = ("energy", "non_finite", "saturated")

#: What each worker contributes once.
PER_WORKER = ("loss", "losses", "stall", "redo", "failed")


@dataclass(frozen=True)
class Agreed:
    """Sums over all workers, equal on each of them.

    Members
    -------
    energy, non_finite, saturated : tuple of int
        By region: Σ S2, and counts of elements.
    loss : int or None
        Mean loss, Q16.16; ``None`` if no worker reported one.
    stall, redo : int
        Microseconds.
    failed : int
        Workers that cannot go on.
    """

    energy: tuple[int, ...]
    non_finite: tuple[int, ...]
    saturated: tuple[int, ...]
    loss: int | None
    stall: int
    redo: int
    failed: int


def agree(
    regions: Sequence[Mapping[str, int]],
    worker: Mapping[str, int],
    group: dist.ProcessGroup | None,
) -> Agreed:
    """Sum everything over the workers, in one collective.

    Parameters
    ----------
    regions : sequence of mappings
        The fields of :data:`PER_REGION`, for each region.
    worker : mapping
        The fields of :data:`PER_WORKER`: ``loss`` (Q16.16), ``losses`` (1, or 0 without one),
        ``stall``, ``redo``, ``failed`` (1 or 0).
    group : ProcessGroup or None
        The workers; its collectives run on the CPU.

    Raises
    ------
    WorkerLostError
        If another worker is not there any more.
    """
    values = [entry[name] for name in PER_REGION for entry in regions]
    values += [worker[name] for name in PER_WORKER]
    vector = torch.tensor(values, dtype=torch.int64)
    with waited_for("the agreement on energies"):
        dist.all_reduce(vector, group=group)
    sums = vector.tolist()
    count = len(regions)
    energy, non_finite, saturated = (
        tuple(sums[i * count : (i + 1) * count]) for i in range(len(PER_REGION))
    )
    total = dict(zip(PER_WORKER, sums[len(PER_REGION) * count :], strict=True))
    return Agreed(
        energy,
        non_finite,
        saturated,
        loss=total["loss"] // total["losses"] if total["losses"] else None,
        stall=total["stall"],
        redo=total["redo"],
        failed=total["failed"],
    )
