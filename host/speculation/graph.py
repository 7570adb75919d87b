"""The graph that a loss stands on: what its backward pass will reach."""

from collections.abc import Iterator
from typing import Any

import torch

__all__ = ["nodes_of", "reached"]

#: Operations whose backward pass has a graph of its own, which is not made before.
_HIDING = "CheckpointFunctionBackward"


def nodes_of(loss: torch.Tensor) -> Iterator[Any]:
    """Each operation of autograd's that the backward pass of a loss will run, once."""
    seen, left = {loss.grad_fn}, [loss.grad_fn]
    while left:
        node: Any = left.pop()
        yield node
        for used, _ in node.next_functions:
            if used is not None and used not in seen:
                seen.add(used)
                left.append(used)


def reached(loss: torch.Tensor) -> tuple[set[int], bool]:
    """Leaves that a backward pass will give gradients, by their ``id``, and whether these are all.

    They are not where a reentrant checkpoint makes its part of the graph within the pass.
    """
    leaves, hides = set(), False
    for node in nodes_of(loss):
        if (leaf := getattr(node, "variable", None)) is not None:
            leaves.add(id(leaf))
        hides |= node.name() == _HIDING
    return leaves, not hides
