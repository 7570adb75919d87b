"""The departure of a backward pass: as a frame, or uncompressed."""

from collections.abc import Sequence
from itertools import accumulate

import torch

from adagrain.host.distributed.exchange import Flat, Share
from adagrain.host.distributed.groups import INDIFFERENT, Groups, in_order

from .bypass import Bypass
from .feedback import Feedback
from .layout import Layout
from .mask import Learner, Mask
from .passage import Passage
from .sending import Sending
from .target import Target

__all__ = ["Departure"]

#: Elements of a half at least: gloo works on two exchanges of a group at a time.
_HALF = 1 << 16


class Departure:
    """Sends what has begun of a pass: at once, in groups, or as a frame when nothing will follow.

    Parameters
    ----------
    workers : int
        How many they are.
    sending : Sending
        Puts exchanges on the line.
    groups : Groups
        What goes together uncompressed, where that matters.
    feedback, mask, target, bypass
        Parts of the exchange.
    """

    def __init__(
        self,
        workers: int,
        sending: Sending,
        groups: Groups,
        *,
        feedback: Feedback,
        mask: Mask,
        target: Target,
        bypass: Bypass,
    ) -> None:
        self._in_groups = workers > INDIFFERENT
        self._sending = sending
        self._groups = groups
        self._feedback = feedback
        self._mask = mask
        self._target = target
        self._bypass = bypass

    def begin(
        self, number: int, passage: Passage, shares: Sequence[Share], flat: Flat | None
    ) -> None:
        """Send what can go at once; all else waits.

        Parameters
        ----------
        number : int
            Of the pass, counted from 0.
        passage : Passage
            The pass.
        shares : sequence of Share
            At least one, all of regions.
        flat : Flat or None
            Memory of them, where they lie together.
        """
        if passage.is_dense is None:
            passage.is_dense, passage.is_resort = self._bypass.begins(number)
        if passage.is_dense and not self._in_groups:
            self._whole(passage, shares, flat)
            return
        passage.waiting += shares
        if passage.is_dense:
            self._whole_groups(passage, everything=False)

    def leave(self, number: int, passage: Passage) -> None:
        """Send what waits, since nothing will follow, and keep what is not sent."""
        if passage.is_dense:
            self._whole_groups(passage, everything=True)
        elif passage.waiting:
            self._frame(number, passage)
        for one in passage.begun:
            one.leave(self._feedback)
        if self._target.budget is not None and (framed := passage.framed) is not None:
            made = framed.made
            self._target.sent(len(made.frame), int(made.sent.count_nonzero()))
        if not isinstance(self._mask, Learner):  # else it hears of the pass first
            with passage.codes(), self._sending.tells():
                self._mask.end_pass(self._target.density(number + 1))

    def _frame(self, number: int, passage: Passage) -> None:
        """Make a frame of all that waits."""
        shares = in_order(passage.waiting)
        passage.waiting = []
        layout, places = Layout.of(shares), [share.average for share in shares]
        with passage.codes():
            made = self._sending.framed(number, layout, _together(shares), places)
        passage.begun.append(made)

    def _whole_groups(self, passage: Passage, *, everything: bool) -> None:
        """Send groups that wait, uncompressed: those that are there whole, or all."""
        for shares in self._groups.take(passage.waiting, everything=everything):
            self._whole(passage, shares, None)

    def _whole(self, passage: Passage, shares: Sequence[Share], flat: Flat | None) -> None:
        """Send shares uncompressed; of those of a bucket one half, then the other."""
        at = 0
        for own in [shares] if self._in_groups else _halves(shares):
            layout = Layout.of(own)
            if flat is None:
                means, averages = _together(own), [share.average for share in own]
            else:
                part = flat.part(at, layout.elements)
                means, averages = part.means, [part.averages]
            passage.begun.append(self._sending.dense(layout, means, averages))
            at += layout.elements


def _halves(shares: Sequence[Share]) -> list[Sequence[Share]]:
    """Two halves of some shares, as equal as can be, or all of them.

    Workers cut alike, whether the shares of each lie together or not.
    """
    ends = [*accumulate(share.mean.numel() for share in shares)]
    elements = ends[-1]
    cut = min(range(len(ends)), key=lambda i: abs(2 * ends[i] - elements))
    if min(ends[cut], elements - ends[cut]) < _HALF:
        return [shares]
    return [shares[: cut + 1], shares[cut + 1 :]]


def _together(shares: Sequence[Share]) -> torch.Tensor:
    return torch.cat([share.mean.reshape(-1) for share in shares])
