"""Verdict of all workers on their frames, before the averages are used."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.distributed as dist

from adagrain.host.distributed.all_reduce import AllReduce
from adagrain.host.distributed.lost import waited_for

__all__ = ["Found", "Verdict", "agree"]


class Found(NamedTuple):
    """Findings of a worker in an exchange.

    Members
    -------
    wanted : int
        Bytes that its own frame would have taken.
    refused : list of bool
        By rank, whether a frame could not be decoded here.
    """

    wanted: int
    refused: list[bool]


class Verdict(NamedTuple):
    """Findings of all workers.

    Members
    -------
    failed : bool
        One of them cannot go on.
    found : list of Found
        By exchange: the longest frame, and frames that any worker could not decode.
    bytes_sent : int
        Bytes that this took.
    """

    failed: bool
    found: list[Found]
    bytes_sent: int


def agree(failed: bool, found: Sequence[Found], group: dist.ProcessGroup, workers: int) -> Verdict:
    """Take the maxima over all workers, in one collective for each backward pass.

    Parameters
    ----------
    failed : bool
        This worker cannot go on.
    found : sequence of Found
        By exchange.
    group : ProcessGroup
        The workers; its collectives run on the CPU.
    workers : int
        How many they are.
    """
    rows = [[own.wanted, *own.refused] for own in found]
    values = torch.tensor([int(failed), *(value for row in rows for value in row)])
    with waited_for("the agreement on frames"):
        AllReduce(values, group, dist.ReduceOp.MAX).wait()
    failures, *rest = values.tolist()
    width = 1 + workers
    agreed = [
        Found(rest[at], [bool(flag) for flag in rest[at + 1 : at + width]])
        for at in range(0, len(rest), width)
    ]
    return Verdict(bool(failures), agreed, values.nbytes)
