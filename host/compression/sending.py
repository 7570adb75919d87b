"""Begins exchanges: makes what is sent, and puts it on the line."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
import torch.distributed as dist

from adagrain.host.distributed.lost import waited_for

from .coder import Coder, masking_of
from .compressor import Compressor, Selected
from .feedback import Feedback
from .frames import Coded, coded, gather
from .layout import Layout
from .mask import Mask
from .options import CompressionOptions
from .plan import Plan
from .rounding import bounded
from .target import Target
from .under_way import Dense, Framed

__all__ = ["Sending"]


class Sending:
    """Begins exchanges as frames, or uncompressed.

    Parameters
    ----------
    group : ProcessGroup or None
        Where uncompressed elements go.
    frames : ProcessGroup
        Where frames go.
    options : CompressionOptions
        Mantissa bits.
    coder : Coder
        Makes frames; masks elements itself, if it can and the mask has tables.
    feedback, mask, target, plan
        Its parts.
    idle_waits : bool
        As that of :class:`~.compressor.Compressor`.

    Members
    -------
    failure : Exception or None
        Why this worker could not make a frame, or take one apart; the first reason counts.
    masked : int
        Number of frames whose elements the coder has masked.
    """

    def __init__(
        self,
        group: dist.ProcessGroup | None,
        frames: dist.ProcessGroup,
        options: CompressionOptions,
        coder: Coder,
        *,
        feedback: Feedback,
        mask: Mask,
        target: Target,
        plan: Plan,
        idle_waits: bool,
    ) -> None:
        self.failure: Exception | None = None
        self.masked = 0
        self._group = group
        self._frames = frames
        self._rank = dist.get_rank(group)
        self._coder = coder
        self._masking = masking_of(coder)
        self._bits = options.mantissa_bits
        self._compressor = Compressor(feedback, mask, self._bits, idle_waits=idle_waits)
        self._target = target
        self._plan = plan

    def framed(
        self, number: int, layout: Layout, means: torch.Tensor, places: list[torch.Tensor]
    ) -> Framed:
        """Begin an exchange of a pass as a frame; one that cannot be made is refused by all.

        Parameters
        ----------
        number : int
            Of the pass, counted from 0.
        layout : Layout
            What it is of.
        means : Tensor
            What this worker contributes, of one dimension.
        places : list of Tensor
            Where the averages go.
        """
        size = self._plan.size(number, layout)
        try:
            selected = self._compressor.masked(layout, means, self._target.density(number))
            selected = selected._replace(sent=bounded(selected.sent, places, self._bits))
            frame = self._masked_and_coded(layout, means, selected, places)
            made = coded(self._coder, selected.sent, layout, self._bits, size, frame)
        except Exception as error:
            self.fail(error)
            selected = self._compressor.nothing(means)
            made = Coded(bytes(1), selected.sent, 0, 0)
        gathering = gather(made.frame, size, layout, self._frames)
        return Framed(layout, places, self._rank, selected, made, gathering)

    def _masked_and_coded(
        self,
        layout: Layout,
        means: torch.Tensor,
        selected: Selected,
        places: Sequence[torch.Tensor],
    ) -> bytes | None:
        """The frame of elements that the coder masks itself; ``None`` where it cannot."""
        if self._masking is None:
            return None
        whole = self._compressor.unmasked(layout, means, selected.values)
        if whole is None:
            return None
        parts = layout.parts(bounded(whole.elements, places, self._bits))
        self.masked += 1
        return self._masking.encode(parts, mantissa_bits=self._bits, masks=whole.tables)

    def fail(self, error: Exception) -> None:
        """This worker could not do its part: all are told when they agree on the pass.

        Where that has been done, or the pass goes uncompressed, they are told in the next one that
        has a frame.
        """
        self.failure = self.failure or error

    @contextmanager
    def tells(self) -> Iterator[None]:
        """Let no error out, which would leave the others waiting: it is one to :meth:`fail` by."""
        try:
            yield
        except Exception as error:
            self.fail(error)

    def dense(self, layout: Layout, means: torch.Tensor, places: list[torch.Tensor]) -> Dense:
        """Begin an exchange of all elements as BF16.

        Parameters
        ----------
        layout, means, places
            As those of :meth:`framed`.
        """
        selected = self._compressor.whole(layout, means)
        selected = selected._replace(sent=bounded(selected.sent, places))
        reduced = selected.sent.clone()
        with waited_for("the exchange of gradients"):
            work = dist.all_reduce(reduced, group=self._group, async_op=True)
        return Dense(layout, places, selected, reduced, work)
