"""Memory that flights take, and whether there is so much."""

from collections.abc import Iterable
from pathlib import Path

from torch import nn

from .control_groups import left_in_groups

__all__ = ["check_memory"]

#: Copies of the weights for each update in flight: this worker's gradients, what is summed over the
#: workers, the averages that come back, and the weights behind one link of a guess.
_COPIES = 4

#: Where Linux tells how much memory programs can have.
_MEMORY = Path("/proc/meminfo")


def check_memory(parameters: Iterable[nn.Parameter], depth: int) -> None:
    """See to it that so many updates can be in flight.

    Asked is the memory of this worker's host, where it is known (on Linux), or of the container
    that it is in, if that has less; and before other workers there have taken theirs.

    Parameters
    ----------
    parameters : iterable of Parameter
        All that are trained.
    depth : int
        Updates in flight.

    Raises
    ------
    ValueError
        If there is not enough memory.
    """
    of_host = [p for p in parameters if p.device.type == "cpu"]
    needed = depth * _COPIES * sum(own.nbytes for own in of_host)
    available = _available()
    if available is not None and needed > available:
        raise ValueError(
            f"depth must be one that memory can hold, but {depth} updates in flight take {needed} "
            f"bytes, and {available} are available"
        )


def _available() -> int | None:
    """Bytes of memory that programs can have without swapping; ``None`` where nobody knows."""
    found = [left_in_groups()]
    if _MEMORY.is_file():
        rows = (line.split() for line in _MEMORY.read_text().splitlines())
        found += [int(row[1]) << 10 for row in rows if row[0] == "MemAvailable:"]
    return min((left for left in found if left is not None), default=None)
