"""The data port of a golden device."""

from collections.abc import Callable

import numpy as np
import torch

from adagrain.models.interface.protocol import GROUP

__all__ = ["DataPort"]


class DataPort:
    """Bytes that are offered to a device, and the unit that takes them.

    Members
    -------
    groups : int
        Groups that are still offered.
    """

    def __init__(self) -> None:
        self._offered = torch.empty(0, dtype=torch.uint8)
        self._take: Callable[[torch.Tensor], torch.Tensor] | None = None

    @property
    def groups(self) -> int:
        return len(self._offered) // GROUP

    def offer(self, words: np.ndarray) -> None:
        """Offer words; what was left of earlier ones is dropped."""
        self._offered = torch.from_numpy(words.view(np.uint8))
        self._feed()

    def feed(self, take: Callable[[torch.Tensor], torch.Tensor] | None) -> None:
        """Give all that comes to a function, which gives back what it did not take; or nothing."""
        self._take = take
        self._feed()

    def _feed(self) -> None:
        if self._take is not None:
            self._offered = self._take(self._offered)
