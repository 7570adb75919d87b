"""Verdict of all workers on their frames, before the averages are used."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist

from adagrain.host.distributed.all_reduce import AllReduce
from adagrain.host.distributed.lost import waited_for

__all__ = ["Verdict", "agree"]


class Verdict(NamedTuple):
    """Verdict of all workers.

    Members
    -------
    failed : bool
        One of them cannot go on.
    wanted : int
        Bytes of the longest frame that any has wanted to send.
    refused : list of bool
        By rank, frames that any could not decode.
    bytes_sent : int
        Bytes that this took.
    """

    failed: bool
    wanted: int
    refused: list[bool]
    bytes_sent: int


def agree(failed: bool, wanted: int, refused: Sequence[bool], group: dist.ProcessGroup) -> Verdict:
    """Take the maxima over all workers, in one collective for each backward pass.

    Parameters
    ----------
    failed : bool
        This worker cannot go on.
    wanted : int
        Bytes that its frame would have taken.
    refused : sequence of bool
        By rank, frames that it could not decode.
    group : ProcessGroup
        The workers; its collectives run on the CPU.
    """
    values = torch.tensor([int(failed), wanted, *map(int, refused)])
    with waited_for("the agreement on frames"):
        AllReduce(values, group, dist.ReduceOp.MAX).wait()
    failures, longest, *flags = values.tolist()
    return Verdict(bool(failures), longest, [*map(bool, flags)], values.nbytes)
