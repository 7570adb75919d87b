"""The arrival of a backward pass: averages are given out, and it is known what has become of it."""

from collections.abc import Sequence
from contextlib import nullcontext

import torch
import torch.distributed as dist

from adagrain.host.distributed.lockstep import Lockstep
from adagrain.host.distributed.lost import waited_for

from .averaging import void_regions
from .bypass import Bypass, Times
from .coder import Coder
from .counts import Counts
from .feedback import Feedback
from .mask import Learner, Mask
from .outcome import Outcome
from .passage import Passage
from .probe import Probe
from .sending import Sending
from .stopwatch import Stopwatch
from .tally import Tally
from .target import Target
from .under_way import Framed
from .verdict import agree

__all__ = ["Arrival"]


class Arrival:
    """Waits for passes that have departed, one after the other, perhaps in a thread.

    It changes nothing that the frames of other passes depend on, but what a mask learns.

    Parameters
    ----------
    group : ProcessGroup or None
        The workers.
    lockstep : Lockstep
        Tells why a worker failed; the workers agree on passes over its group.
    coder : Coder
        Takes frames apart.
    sending : Sending
        Knows why this worker has failed, if it has.
    feedback, mask, target, bypass, probe, stopwatch
        Parts of the exchange.
    whole_passes : bool
        As that of :class:`~.exchange.CompressedExchange`.
    """

    def __init__(
        self,
        group: dist.ProcessGroup | None,
        lockstep: Lockstep,
        coder: Coder,
        sending: Sending,
        *,
        feedback: Feedback,
        mask: Mask,
        target: Target,
        bypass: Bypass,
        probe: Probe,
        stopwatch: Stopwatch,
        whole_passes: bool,
    ) -> None:
        self._group = group
        self._workers = dist.get_world_size(group)
        self._rank = dist.get_rank(group)
        self._lockstep = lockstep
        self._coder = coder
        self._sending = sending
        self._feedback = feedback
        self._mask = mask
        self._target = target
        self._bypass = bypass
        self._probe = probe
        self._stopwatch = stopwatch
        self._whole_passes = whole_passes

    def end(self, number: int, passage: Passage) -> None:
        """Wait for a pass, give its averages out, and find the outcome.

        Parameters
        ----------
        number : int
            Of the pass, counted from 0.
        passage : Passage
            The pass; something has departed.

        Raises
        ------
        WorkerFailedError, WorkerLostError
            If the workers cannot go on together. On a worker that failed, its own error.
        """
        sample = self._sample(passage)
        outcome = self._judged(number, passage)
        outcome.counts.dense_after_refusal = int(passage.is_resort)
        averages, void = self._averages(passage)
        outcome.counts.void += bool(void)
        tally = Tally()
        for one, average in zip(passage.begun, averages, strict=True):
            outcome.lost += one.lost(self._feedback, void)
            one.give(average)
            tally.add(one.sent())
        outcome.sent = tally.take()
        if isinstance(self._mask, Learner):
            self._teach(self._mask, passage, averages, sample, outcome)
        if passage.framed is not None and self._bypass.decides(number):
            outcome.times = self._measured(passage, passage.framed, outcome)
        self._stopwatch.ends()
        passage.outcome = outcome

    def _sample(self, passage: Passage) -> torch.Tensor | None:
        """Sample of a mask that learns; an agreement on the pass, if any, tells of errors."""
        if not isinstance(self._mask, Learner):
            return None
        with nullcontext() if passage.framed is None else self._sending.tells():
            return self._mask.sample()
        return None

    def _judged(self, number: int, passage: Passage) -> Outcome:
        """Decode the workers' frames, and agree on those that count."""
        framed, outcome = passage.framed, Outcome(number)
        if framed is None:
            return outcome
        framed.wait()
        with passage.codes():
            refused = self._refused(framed)
        failure, made = self._sending.failure, framed.made
        verdict = agree(failure is not None, made.wanted, refused, self._lockstep.group)
        outcome.bytes_sent += verdict.bytes_sent
        if verdict.failed:
            self._lockstep.tell(failure)
        framed.leave_out(verdict.refused)
        outcome.wanted.append((framed.layout, verdict.wanted))
        outcome.refused = any(verdict.refused)
        own = verdict.refused[self._rank]
        outcome.counts.add(Counts(int(made.left_out > 0), made.left_out, int(own)))
        return outcome

    def _refused(self, framed: Framed) -> list[bool]:
        """By rank, frames that cannot be used here."""
        try:
            return framed.decode(self._coder)
        except Exception as error:
            self._sending.fail(error)
            return [True] * self._workers

    def _averages(self, passage: Passage) -> tuple[list[torch.Tensor], set[int]]:
        """Averages, each as soon as it is there; and regions of which they are of no use."""
        averages, void = [], set[int]()
        for one in passage.begun:
            one.wait()
            average = one.average(self._workers)
            averages.append(average)
            void |= void_regions(one.layout, average)
        if void and self._whole_passes:
            void = {region for one in passage.begun for region, _ in one.layout.keys}
        return averages, void

    def _teach(
        self,
        mask: Learner,
        passage: Passage,
        averages: Sequence[torch.Tensor],
        sample: torch.Tensor | None,
        outcome: Outcome,
    ) -> None:
        """Tell a mask that learns what was sent, and what it wants to know of all gradients."""
        for one, average in zip(passage.begun, averages, strict=True):
            if isinstance(one, Framed) and one.counts:
                with passage.codes(), self._sending.tells():
                    mask.heard(one.layout, one.made, average)
        if sample is not None:
            with waited_for("the probe of gradients"):
                dist.all_reduce(sample, group=self._group)
            outcome.bytes_sent += sample.nbytes
            with self._sending.tells():
                mask.probed(sample.float().mul_(1.0 / self._workers))
        with passage.codes(), self._sending.tells():
            self._mask.end_pass(self._target.density(outcome.number + 1))

    def _measured(self, passage: Passage, framed: Framed, outcome: Outcome) -> Times:
        """Times that a decision on the bypass follows from."""
        before, device = self._probe.bytes_sent, framed.selected.sent.device
        own = passage.coding, self._stopwatch.elsewhere
        times = self._probe.times(*own, framed.bytes_sent, framed.layout.elements, device)
        outcome.bytes_sent += self._probe.bytes_sent - before
        self._stopwatch.decides()
        return times
