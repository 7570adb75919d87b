"""Elements sent of a gradient."""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from adagrain.models.mask import KeepTable

from .feedback import Feedback, Values
from .layout import Layout
from .mask import Learner, Mask, Tabled
from .rounding import rounded, rounded_where

__all__ = ["Compressor", "Selected", "Unmasked"]

#: Type of elements that are sent.
_SENT = torch.bfloat16


class Selected(NamedTuple):
    """Values to send, and what is sent of them.

    Members
    -------
    values : Values
        What there is.
    sent : Tensor
        BF16, of one dimension; +0 where nothing is sent.
    """

    values: Values
    sent: torch.Tensor


class Unmasked(NamedTuple):
    """All elements, and what leaves those that are sent.

    Members
    -------
    elements : Tensor
        BF16, of one dimension.
    tables : sequence of KeepTable
        For each share the one that masks it.
    """

    elements: torch.Tensor
    tables: Sequence[KeepTable]


class Compressor:
    """Adds the residual to a gradient, masks and rounds it.

    Parameters
    ----------
    feedback : Feedback
        The residuals.
    mask : Mask
        Chooses elements. What is not finite is sent in any case.
    mantissa_bits : int
        Of each element that is sent.
    idle_waits : bool
        Shares whose gradient is zero throughout send nothing, and keep residual and velocity: the
        parameter may be one that no worker has used, and its average is not applied.
    """

    def __init__(
        self, feedback: Feedback, mask: Mask, mantissa_bits: int, *, idle_waits: bool
    ) -> None:
        self._feedback = feedback
        self._mask = mask
        self._mantissa_bits = mantissa_bits
        self._idle_waits = idle_waits

    def masked(self, layout: Layout, gradient: torch.Tensor, density: float) -> Selected:
        """The elements that the mask chooses, and +0."""
        idle = self._idle(layout, gradient)
        values = self._feedback.values(layout, gradient, idle)
        if isinstance(self._mask, Learner):
            self._mask.look(layout, gradient)
        keep = self._mask.keep(values.v, layout, density)
        if keep.dtype != torch.bool or keep.shape != values.v.shape:
            wanted = tuple(values.v.shape)
            raise TypeError(
                f"keep of a mask must give bools of shape {wanted}, not {keep.dtype} of shape "
                f"{tuple(keep.shape)}"
            )
        sent = rounded_where(keep, values.v, self._mantissa_bits)
        return Selected(values, _without(idle, layout, sent))

    def unmasked(self, layout: Layout, gradient: torch.Tensor, values: Values) -> Unmasked | None:
        """Give what :meth:`masked` has just masked; ``None`` if it did not by tables."""
        tables = self._mask.tables() if isinstance(self._mask, Tabled) else None
        if tables is None:
            return None
        elements = rounded(values.v, self._mantissa_bits)
        return Unmasked(_without(self._idle(layout, gradient), layout, elements), tables)

    def whole(self, layout: Layout, gradient: torch.Tensor) -> Selected:
        """All elements, with all mantissa bits that BF16 has."""
        idle = self._idle(layout, gradient)
        values, sent = self._feedback.rounded(layout, gradient, idle)
        return Selected(values, _without(idle, layout, sent))

    @staticmethod
    def nothing(gradient: torch.Tensor) -> Selected:
        """Select nothing: nothing can be sent."""
        return Selected(Values(gradient.float(), None), torch.zeros_like(gradient, dtype=_SENT))

    def _idle(self, layout: Layout, gradient: torch.Tensor) -> list[int]:
        """Places of the shares that wait."""
        parts = layout.parts(gradient) if self._idle_waits else ()
        return [place for place, own in enumerate(parts) if not own.any()]


def _without(idle: Sequence[int], layout: Layout, sent: torch.Tensor) -> torch.Tensor:
    parts = layout.parts(sent) if idle else ()
    for place in idle:
        parts[place].zero_()
    return sent
