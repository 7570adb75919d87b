"""A mask: a choice of elements that are sent."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import torch

from adagrain.models.mask import KeepTable

from .frames import Coded
from .layout import Layout

__all__ = ["Learner", "Mask", "Tabled"]


@runtime_checkable
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
        """State of this worker for a resumed run."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""


@runtime_checkable
class Tabled(Protocol):
    """Further call of a mask of keep-tables: a device masks by them what it codes."""

    def tables(self) -> Sequence[KeepTable] | None:
        """Tables of the shares of the last :meth:`Mask.keep`; ``None`` if it chose by none.

        For elements as they are sent, rounded, they choose the same.
        """


@runtime_checkable
class Learner(Protocol):
    """Further calls of a mask that learns from what happens."""

    def look(self, layout: Layout, gradient: torch.Tensor) -> None:
        """This worker's gradient of one dimension, before :meth:`Mask.keep`; not to be changed."""

    def heard(self, layout: Layout, made: Coded, average: torch.Tensor) -> None:
        """Hear what this worker has sent, and the average over all; not to be changed.

        Of a frame that does not count, since a worker has refused it, it hears nothing.
        """

    def sample(self) -> torch.Tensor | None:
        """Once all of a pass is on its way, what is to be averaged over the workers, if anything.

        All workers ask for it in the same passes, of the same size.
        """

    def probed(self, average: torch.Tensor) -> None:
        """That average."""
