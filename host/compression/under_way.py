"""Exchanges that have begun: as frames, or uncompressed."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
import torch.distributed as dist

from adagrain.host.distributed.exchange import spread
from adagrain.host.distributed.lost import waited_for
from adagrain.host.distributed.sent import Sent
from adagrain.models.codec import region_bytes

from .averaging import average_of_frames
from .coder import Coder
from .compressor import Selected
from .feedback import Feedback, Lost
from .frames import Coded, Gathering
from .layout import Layout
from .rounding import averaged, same_bits

__all__ = ["Dense", "Framed"]


@dataclass
class Framed:
    """An exchange whose elements go as a frame.

    Parameters
    ----------
    layout : Layout
        What it is of.
    places : list of Tensor
        Where the averages go.
    rank : int
        Of this worker.
    selected : Selected
        What this worker has to send.
    made : Coded
        Its frame, and what is in it.
    gathering : Gathering
        The frames of all workers.

    Members
    -------
    decoded : list of Tensor or None
        By rank, what was sent; ``None`` where it does not count.
    """

    layout: Layout
    places: list[torch.Tensor]
    rank: int
    selected: Selected
    made: Coded
    gathering: Gathering
    decoded: list[torch.Tensor | None] = field(default_factory=list)

    @property
    def bytes_sent(self) -> int:
        """Bytes of the slot."""
        return self.gathering.slots[self.rank].nbytes

    @property
    def counts(self) -> bool:
        """True if this worker's frame is in the average."""
        return self.decoded[self.rank] is not None

    def sent(self) -> list[tuple[int, Sent]]:
        """Amounts sent of each share, by region; nothing, if this worker's frame does not count.

        Bits of the frame are dealt to the shares in proportion to their blocks.
        """
        rows = zip(self.layout.keys, self.layout.sizes, strict=True)
        if not self.counts:  # perhaps it is none that could be taken apart
            return [(region, Sent(size, 0, 0)) for (region, _), size in rows]
        own = region_bytes(self.made.frame, most=self.layout.elements)
        frame, blocks = 8 * len(self.made.frame), max(1, sum(own))
        parts = self.layout.parts(self.made.sent.cpu().view(torch.int16))
        return [
            (region, Sent(len(part), int(part.count_nonzero()), frame * taken // blocks))
            for (region, _), part, taken in zip(self.layout.keys, parts, own, strict=True)
        ]

    def wait(self) -> None:
        """Wait for all workers' frames."""
        self.gathering.wait()

    def decode(self, coder: Coder) -> list[bool]:
        """Decode them; by rank, whether a frame was refused.

        So is this worker's own, if it holds anything else than what it was made of.
        """
        self.decoded = self.gathering.decoded(coder)
        own = self.decoded[self.rank]
        if own is not None and not same_bits(own, self.made.sent.cpu()):
            self.decoded[self.rank] = None
        return [own is None for own in self.decoded]

    def leave_out(self, refused: Sequence[bool]) -> None:
        """Leave frames out of the average that some worker has refused."""
        self.decoded = [
            None if out else own for own, out in zip(self.decoded, refused, strict=True)
        ]

    def average(self, workers: int) -> torch.Tensor:
        """The average, FP32."""
        return average_of_frames(self.decoded, workers, self.layout.elements)

    def leave(self, feedback: Feedback) -> None:
        """Keep what is not sent."""
        feedback.keep(self.layout, self.selected.values, self.made.sent, everything=False)

    def lost(self, feedback: Feedback, void: set[int]) -> list[Lost]:
        """Values sent of void regions, or of all where the frame does not count."""
        void = void if self.counts else {region for region, _ in self.layout.keys}
        values, sent = self.selected.values, self.made.sent
        return feedback.lost(self.layout, values, sent, void=void, everything=False)

    def give(self, average: torch.Tensor) -> None:
        """Write the averages to where they belong."""
        spread(average, self.places)


@dataclass
class Dense:
    """An exchange whose elements all go, as BF16.

    Parameters
    ----------
    layout, places, selected
        As those of :class:`Framed`.
    reduced : Tensor
        The sum over the workers, once it is there.
    work : Work
        The all-reduce.
    """

    layout: Layout
    places: list[torch.Tensor]
    selected: Selected
    reduced: torch.Tensor
    work: dist.Work

    @property
    def bytes_sent(self) -> int:
        """Bytes of all elements."""
        return self.reduced.nbytes

    def sent(self) -> list[tuple[int, Sent]]:
        """Amounts sent of each share, by region: all elements."""
        bits = 8 * self.reduced.element_size()
        rows = zip(self.layout.keys, self.layout.sizes, strict=True)
        return [(region, Sent(size, size, bits * size)) for (region, _), size in rows]

    def wait(self) -> None:
        """Wait for the sum."""
        with waited_for("the exchange of gradients"):
            self.work.wait()

    def average(self, workers: int) -> torch.Tensor:
        """The average, FP32; where it belongs, if that is one place of this type."""
        return averaged(self.reduced, workers, self._place())

    def leave(self, feedback: Feedback) -> None:
        """Keep what rounding took."""
        feedback.keep(self.layout, *self.selected, everything=True)

    def lost(self, feedback: Feedback, void: set[int]) -> list[Lost]:
        """Values sent of void regions."""
        return feedback.lost(self.layout, *self.selected, void=void, everything=True)

    def give(self, average: torch.Tensor) -> None:
        """Write the averages to where they belong."""
        if average is not self.places[0]:
            spread(average, self.places)

    def _place(self) -> torch.Tensor:
        first = self.places[0]
        if len(self.places) == 1 and first.dtype == torch.float32 and first.dim() == 1:
            return first
        return torch.empty_like(self.reduced, dtype=torch.float32)
