"""A region's guess: a chain of the optimizer's steps, one for each update in flight."""

from collections.abc import Mapping, Sequence

import torch
from torch import nn

__all__ = ["Chain", "flat"]


class Chain:
    """Guessed weights, and those between the links that have led there.

    The first link goes out from the anchor, as it was when the chain was made. A link is taken off
    when its true update arrives.

    Parameters
    ----------
    leaves : mapping
        Parameter → the leaf that has its guess.
    between : sequence of Tensor
        Weights behind each link but the last; of one dimension.

    Members
    -------
    left : int
        Links whose true update has not arrived.
    """

    def __init__(
        self, leaves: Mapping[nn.Parameter, nn.Parameter], between: Sequence[torch.Tensor]
    ) -> None:
        self.leaves = leaves
        self.left = len(between) + 1
        self._between = [*between]
        self._front: torch.Tensor | None = None

    def take(self, anchor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Take off the oldest link: the weights in front of it and behind it.

        Parameters
        ----------
        anchor : Tensor
            The region's true weights, before the update.
        """
        front = anchor if self._front is None else self._front
        self._front = self._between.pop(0) if self._between else flat([*self.leaves.values()])
        self.left -= 1
        return front, self._front


def flat(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """All elements, one after the other."""
    return torch.cat([own.detach().reshape(-1) for own in tensors])
