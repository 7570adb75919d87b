"""The compressed exchange: what few elements take, from every worker to every other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from adagrain.host.distributed.exchange import DenseExchange, Flat, Pending, Share
from adagrain.host.distributed.lockstep import Lockstep
from adagrain.host.distributed.lost import waited_for
from adagrain.host.distributed.sent import Sent

from .averaging import void_regions
from .bypass import Bypass
from .coder import Coder, coder_of
from .counts import Counts
from .ending import Aside, Ending, WhenAsked
from .feedback import Feedback
from .layout import Layout
from .mask import Learner
from .masks import mask_of
from .options import CompressionOptions
from .plan import Plan
from .probe import Probe
from .sending import Sending
from .stopwatch import Stopwatch
from .tally import Tally
from .target import Target
from .under_way import Dense, Framed
from .verdict import Found, agree

__all__ = ["CompressedExchange"]


class CompressedExchange:
    """Averages few elements of each worker over all of them; what is not sent waits.

    When a pass departs, or is waited for, one frame is made of all that has begun, and sent in a
    slot of agreed size. Then those of all workers are decoded, and these agree on what arrived: one
    threshold for all saves more than it costs to wait, and in which order shares come does not
    matter. All decode the same frames, and add them in rank order in FP32, so averages are
    bit-identical. A frame that one worker refuses counts on none, and stays in its sender's
    residual; so does what did not fit. Where it is faster, elements go as BF16, uncompressed,
    as they begin.

    All but the sending is done where a pass is waited for, or, with ``aside``, in a thread. Then no
    collective begins because a worker waits, nor does a worker wait for another one to wait.

    Shares of no region are averaged whole, as :class:`DenseExchange` does it.

    Parameters
    ----------
    group : ProcessGroup or None
        The workers; uncompressed elements go here.
    lockstep : Lockstep
        Tells why a worker failed; frames go over its group. Nobody else uses it, with ``aside``.
    options : CompressionOptions
        Masks and all else.
    elements : int
        Those of the model, which the density is of.
    whole_passes : bool
        A number that is not finite makes a whole pass void, not only a region.
    idle_waits : bool
        As that of :class:`~.compressor.Compressor`.
    device : Coder or None
        The device that is registered, if there is one.
    aside : bool
        Passes end in a thread, as soon as they can.

    Members
    -------
    passes : int
        Backward passes that were exchanged.
    counts : Counts
        What did not go as it should.
    bypass : Bypass
        Decisions on it.
    mask : Mask
        The mask.
    """

    remembers = True

    def __init__(
        self,
        group: dist.ProcessGroup | None,
        lockstep: Lockstep,
        options: CompressionOptions,
        elements: int,
        *,
        whole_passes: bool = False,
        idle_waits: bool = False,
        device: Coder | None = None,
        aside: bool = False,
    ) -> None:
        self.workers = dist.get_world_size(group)
        self.rank = dist.get_rank(group)
        self.bytes_sent = 0
        self.passes = 0
        self.counts = Counts()
        self.bypass = Bypass(options.bypass, options.worth)
        self.mask = mask_of(options, self.rank)
        self._group = group
        self._lockstep = lockstep
        self._options = options
        self._whole_passes = whole_passes
        self._dense = DenseExchange(group)
        self._feedback = Feedback(enabled=options.error_feedback, momentum=options.momentum)
        self._target = Target(options, elements)
        self._plan = Plan(options.plan_passes, self._target)
        self._coder = coder_of(options.coder, device)
        self._sending = Sending(
            *(group, lockstep.group, options, self._coder),
            feedback=self._feedback,
            mask=self.mask,
            target=self._target,
            plan=self._plan,
            idle_waits=idle_waits,
        )
        self._probe = Probe(lockstep.group if aside else group, lockstep.group)
        self._ends: type[Ending] = Aside if aside else WhenAsked
        self._ending: Ending | None = None
        self._waiting: list[Share] = []
        self._begun: list[Framed | Dense] = []
        self._tally = Tally()
        self._stopwatch = Stopwatch()

    @property
    def _kind(self) -> str:
        return type(self.mask).__name__

    @property
    def bypassed(self) -> bool:
        """Whether this pass goes uncompressed."""
        return self.bypass.active(self.passes)

    def begin(self, shares: Sequence[Share], flat: Flat | None = None) -> Pending:
        """As :meth:`Exchange.begin`; a pass that has departed is ended first."""
        if self._ending is not None:
            self.settle()
        alone = [share for share in shares if share.region is None]
        own = [share for share in shares if share.region is not None]
        pending = _Pending(self, self._dense.begin(alone) if alone else None)
        self.bytes_sent += sum(share.mean.nbytes for share in alone)
        if not self.bypassed:
            self._waiting += own
        elif own:
            means = _together(own) if flat is None else flat.means
            out = [share.average for share in own] if flat is None else [flat.averages]
            self._add(self._sending.dense(Layout.of(own), means, out))
        return pending

    def depart(self) -> Exception | None:
        """As :meth:`Exchange.depart`."""
        if self._ending is None and (self._waiting or self._begun):
            self._stopwatch.waits()
            if self._waiting:
                self._send()
            self._ending = self._ends(self._end)
        return self._sending.failure

    def arrived(self) -> bool:
        """True where it is known that :meth:`settle` has nothing to wait for."""
        if self._ending is None:
            return not (self._waiting or self._begun)
        return self._ending.arrived()

    def settle(self) -> None:
        """End the pass: wait for all that has begun, agree on it, and give the averages out.

        Raises
        ------
        WorkerFailedError, WorkerLostError
            If the workers cannot go on together. On a worker that failed, its own error.
        """
        self.depart()
        ending, self._ending = self._ending, None
        if ending is not None:
            ending.wait()

    def _end(self) -> None:
        """End a pass that has departed."""
        begun, self._begun = self._begun, []
        for one in begun:
            one.wait()
        self._judge([one for one in begun if isinstance(one, Framed)])
        averages = [one.average(self.workers) for one in begun]
        void = void_regions([one.layout for one in begun], averages)
        if void and self._whole_passes:
            void = {region for one in begun for region, _ in one.layout.keys}
        self.counts.void += bool(void)
        for one, average in zip(begun, averages, strict=True):
            one.keep(self._feedback, void)
            one.give(average)
            self._tally.add(one.layout, one.sent, one.bits())
            if isinstance(one, Framed) and isinstance(self.mask, Learner):
                with self._stopwatch.codes():
                    self.mask.heard(one.layout, one.made.frame, average)
        self._probe_gradients()
        self._end_pass(begun)

    def sent(self) -> dict[int, Sent]:
        """As :meth:`Exchange.sent`."""
        return self._tally.take()

    def state_dict(self) -> dict[str, Any]:
        """As :meth:`Exchange.state_dict`.

        Raises
        ------
        RuntimeError
            If an exchange is under way.
        """
        if not self.arrived():
            raise RuntimeError("state must be taken when no exchange is under way")
        return {
            "kind": self._kind,
            "passes": self.passes,
            "counts": self.counts.state_dict(),
            "feedback": self._feedback.state_dict(),
            "mask": self.mask.state_dict(),
            "target": self._target.state_dict(),
            "plan": self._plan.state_dict(),
            "bypass": self.bypass.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As :meth:`Exchange.load_state_dict`.

        Raises
        ------
        ValueError
            If it is of another mask.
        """
        if state["kind"] != self._kind:
            raise ValueError(f"mask of the state must be {self._kind}, not {state['kind']}")
        self.passes = state["passes"]
        self.counts.load_state_dict(state["counts"])
        for part, name in (
            (self._feedback, "feedback"),
            (self.mask, "mask"),
            (self._target, "target"),
            (self._plan, "plan"),
            (self.bypass, "bypass"),
        ):
            part.load_state_dict(state[name])

    def _send(self) -> None:
        """Make a frame of all that waits."""
        shares = sorted(self._waiting, key=lambda share: (share.region or 0, share.start))
        self._waiting = []
        layout, places = Layout.of(shares), [share.average for share in shares]
        with self._stopwatch.codes():
            made = self._sending.framed(self.passes, layout, _together(shares), places)
        self._add(made)

    def _add(self, begun: Framed | Dense) -> None:
        self.bytes_sent += begun.bytes_sent
        self._begun.append(begun)

    def _judge(self, framed: Sequence[Framed]) -> None:
        """Decode all frames, and agree on those that count."""
        if not framed:
            return
        with self._stopwatch.codes():
            found = [Found(one.made.wanted, self._refused(one)) for one in framed]
        failure = self._sending.failure
        verdict = agree(failure is not None, found, self._lockstep.group, self.workers)
        self.bytes_sent += verdict.bytes_sent
        if verdict.failed:
            self._lockstep.tell(failure)
        for one, agreed in zip(framed, verdict.found, strict=True):
            one.leave_out(agreed.refused)
            self._plan.wanted(one.layout, agreed.wanted)
            self.counts.refused += agreed.refused[self.rank]
            self.counts.overflows += one.made.left_out > 0
            self.counts.left_out += one.made.left_out

    def _refused(self, framed: Framed) -> list[bool]:
        """By rank, frames that cannot be used here."""
        try:
            return framed.decode(self._coder)
        except Exception as error:
            self._sending.fail(error)
            return [True] * self.workers

    def _probe_gradients(self) -> None:
        """Average what the mask wants to know of all workers' gradients."""
        sample = self.mask.sample() if isinstance(self.mask, Learner) else None
        if sample is not None and isinstance(self.mask, Learner):
            with waited_for("the probe of gradients"):
                dist.all_reduce(sample, group=self._group)
            self.bytes_sent += sample.nbytes
            self.mask.probed(sample.float().mul_(1.0 / self.workers))

    def _end_pass(self, begun: Sequence[Framed | Dense]) -> None:
        framed = [one for one in begun if isinstance(one, Framed)]
        if framed and self._options.budget is not None:
            sent = sum(int(one.made.sent.count_nonzero()) for one in framed)
            self._target.sent(sum(len(one.made.frame) for one in framed), sent)
        with self._stopwatch.codes():
            self.mask.end_pass(self._target.density(self.passes + 1))
        if self.bypass.decides(self.passes):
            self._decide(framed)
        self._plan.end_pass(self.passes)
        self.passes += 1
        self._stopwatch.ends()

    def _decide(self, framed: Sequence[Framed]) -> None:
        slots = sum(one.bytes_sent for one in framed)
        elements = sum(one.layout.elements for one in framed)
        before, device = self._probe.bytes_sent, framed[0].selected.sent.device
        self.bypass.decide(self.passes, self._probe.times(self._stopwatch, slots, elements, device))
        self.bytes_sent += self._probe.bytes_sent - before
        self._stopwatch.decides()


def _together(shares: Sequence[Share]) -> torch.Tensor:
    return torch.cat([share.mean.reshape(-1) for share in shares])


@dataclass
class _Pending:
    """A beginning's part of the pass, and the exchange of its shares of no region."""

    exchange: CompressedExchange
    alone: Pending | None

    def arrived(self) -> bool:
        return self.exchange.arrived() and (self.alone is None or self.alone.arrived())

    def wait(self) -> None:
        self.exchange.settle()
        if self.alone is not None:
            self.alone.wait()
