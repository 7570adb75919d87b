"""What a mask is: a choice of elements that are sent."""

from collections.abc import Mapping
from typing import Any, Protocol

import torch

from .layout import Layout

__all__ = ["Mask"]


class Mask(Protocol):
    """Chooses which elements are sent, on this worker alone: a frame tells by itself what is in it.

    One that chooses each element by its own value and by what is known from passes before does not
    depend on how parameters are put into buckets; so a resumed run equals an uninterrupted one.
    """

    def keep(self, v: torch.Tensor, layout: Layout, density: float) -> torch.Tensor:
        """True for each element that is to be sent; those that are 0 are not, in any case.

        Parameters
        ----------
        v : Tensor
            Gradient and residual, FP32, of one dimension; not to be changed.
        layout : Layout
            What it is of.
        density : float
            Part of the elements that is wanted in this pass, on average over the model.
        """

    def end_pass(self, density: float) -> None:
        """All shares of a backward pass have been masked; the next one wants this density."""

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs, of this worker."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""
