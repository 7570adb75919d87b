"""Gradients that meet in another order where a part of a graph was made again."""

from typing import Any

import torch

from .graph import nodes_of

__all__ = ["meet_in_another_order"]


def meet_in_another_order(loss: torch.Tensor, since: int, until: int) -> bool:
    """True if gradients may be added up in another order than if the whole graph was made at once.

    Autograd adds up what comes back to a tensor in the order of its users, the last one first.
    Users that were made again are the last ones now. That is as it was behind the last call that
    was left out; in front of it, one that was made again might have been the first of all.

    Parameters
    ----------
    loss : Tensor
        What the backward pass begins with.
    since : int
        Autograd's number of the first operation that was made again.
    until : int
        That of the first one behind the last call that was left out.
    """
    first: dict[tuple[Any, int], int] = {}
    kept: set[tuple[Any, int]] = set()
    for node in nodes_of(loss):
        number = node._sequence_nr()
        for used in node.next_functions:
            if used[0] is None:
                continue
            if number < since:
                kept.add(used)
            else:
                first[used] = min(first.get(used, number), number)
    return any(first[used] < until for used in kept & first.keys())
