"""Time-out of a process group, and its end."""

import time
from contextlib import suppress
from datetime import timedelta

import torch.distributed as dist
from torch.distributed.constants import default_pg_timeout

from .lost import waited_for

__all__ = ["give_back", "leave_group", "on_processors", "time_out_of"]

#: Seconds that gloo's threads get to let go of the last tensors: they need Python's lock, and a
#: loaded machine may not run them at once.
_GRACE = 0.2


def time_out_of(group: dist.ProcessGroup) -> timedelta:
    """The time-out that a script has given a process group; the shortest of its backends'.

    PyTorch's own where none of them tells.
    """
    backends = [group._get_backend(place) for place in group._device_types]
    options = [getattr(backend, "options", None) for backend in backends]
    told = [own._timeout for own in options if own is not None]
    return min(told, default=default_pg_timeout)


def on_processors(group: dist.ProcessGroup) -> dist.ProcessGroup:
    """Another group of the same workers, whose collectives run on the CPU, with its time-out.

    All of them must make one at the same time.

    Raises
    ------
    WorkerLostError
        If another worker is not there.
    """
    ranks = dist.get_process_group_ranks(group)
    part = len(ranks) < dist.get_world_size()
    with waited_for("the making of a process group"):
        return dist.new_group(
            ranks, timeout=time_out_of(group), backend="gloo", use_local_synchronization=part
        )


def give_back(group: dist.ProcessGroup) -> None:
    """Destroy a process group of one's own, unless the script has destroyed all.

    Also where it has made others since.
    """
    if dist.is_initialized():
        with suppress(ValueError):  # what PyTorch says of a group that it does not know
            dist.destroy_process_group(group)


def leave_group() -> None:
    """Wait for all workers, then destroy the process group.

    gloo's threads drop a collective's tensors some time after its result is there; one that has not
    yet done so when Python ends aborts the process ("terminate called without an active
    exception"). ``destroy_process_group`` does not wait for them where DDP has used the group
    (PyTorch 2.13; issue 190489 and pull request 179291 of pytorch/pytorch tell of it).
    """
    dist.barrier()
    time.sleep(_GRACE)
    dist.destroy_process_group()
