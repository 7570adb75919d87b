"""The one vector of integers that the workers sum in every step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist

__all__ = ["Agreed", "DisagreementError", "agree"]

#: What each region contributes; 0 where it is not due.
PER_REGION = ("energy", "non_finite", "saturated")

#: What each worker contributes once. ``check`` and its square tell whether all have the same.
PER_WORKER = ("loss", "losses", "stall", "redo", "check", "check_squared")

#: Bits of ``check``: its square, summed over 1024 workers, fits int64.
CHECK_BITS = 24


class DisagreementError(RuntimeError):
    """The workers have decided differently; their weights can no longer be trusted."""


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
    """

    energy: tuple[int, ...]
    non_finite: tuple[int, ...]
    saturated: tuple[int, ...]
    loss: int | None
    stall: int
    redo: int


def agree(
    regions: Sequence[Mapping[str, int]],
    worker: Mapping[str, int],
    *,
    check: int,
    group: dist.ProcessGroup | None,
    device: torch.device,
) -> Agreed:
    """Sum everything over the workers, in one collective.

    Parameters
    ----------
    regions : sequence of mappings
        The fields of :data:`PER_REGION`, for each region.
    worker : mapping
        ``loss`` (Q16.16), ``losses`` (1, or 0 without one), ``stall``, ``redo``.
    check : int
        Hash of all decisions so far, below 2^24.
    group : ProcessGroup or None
        The workers.
    device : torch.device
        Where the group's collectives run.

    Raises
    ------
    DisagreementError
        If ``check`` is not the same on all workers; on all of them.
    """
    own = {**worker, "check": check, "check_squared": check * check}
    values = [entry[name] for name in PER_REGION for entry in regions]
    values += [own[name] for name in PER_WORKER]
    vector = torch.tensor(values, dtype=torch.int64, device=device)
    dist.all_reduce(vector, group=group)
    sums = vector.tolist()
    count = len(regions)
    energy, non_finite, saturated = (
        tuple(sums[i * count : (i + 1) * count]) for i in range(len(PER_REGION))
    )
    total = dict(zip(PER_WORKER, sums[len(PER_REGION) * count :], strict=True))
    # Σx² · W = (Σx)² only where all x are the same.
    if total["check_squared"] * dist.get_world_size(group) != total["check"] ** 2:
        raise DisagreementError("the workers' decisions must be equal, but their hashes differ")
    return Agreed(
        energy,
        non_finite,
        saturated,
        loss=total["loss"] // total["losses"] if total["losses"] else None,
        stall=total["stall"],
        redo=total["redo"],
    )
