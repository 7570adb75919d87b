"""The compressed exchange: what few elements take, from every worker to every other."""

from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from zlib import crc32

import torch.distributed as dist

from adagrain.host.distributed.exchange import DenseExchange, Flat, Pending, Share
from adagrain.host.distributed.groups import Groups
from adagrain.host.distributed.lockstep import Lockstep, is_known
from adagrain.host.distributed.process_group import give_back
from adagrain.host.distributed.sent import Sent
from adagrain.host.distributed.state import check_parts, check_whole, entries_of

from .arrival import Arrival
from .beginning import Beginning
from .bypass import Bypass
from .coder import Coder, coder_of
from .counts import Counts
from .departure import Departure
from .ending import Aside, Ending, WhenAsked
from .feedback import Feedback
from .learned.watching import let_go
from .masks import mask_of
from .options import CompressionOptions
from .outcome import Outcome
from .passage import Passage
from .plan import Plan, check_sizes
from .probe import Probe
from .sending import Sending
from .stopwatch import Stopwatch
from .tally import Tally
from .target import Target

__all__ = ["CompressedExchange"]

#: What a state must have; earlier ones had nothing more.
_PARTS = "kind", "passes", "counts", "feedback", "mask", "target", "plan", "bypass", "outcomes"


class CompressedExchange:
    """Averages few elements of each worker over all of them; what is not sent waits.

    When a pass departs, or is waited for, one frame is made of all that has begun, and sent in a
    slot of agreed size. Then those of all workers are decoded, and these agree on what arrived: one
    threshold for all saves more than it costs to wait, and in which order shares come does not
    matter. All decode the same frames, and add them in rank order in FP32, so averages are
    bit-identical. A frame that one worker refuses counts on none, and stays in its sender's
    residual; so does what did not fit. Where it is faster, and in the pass behind a refused frame,
    elements go as BF16, uncompressed, as they begin.

    A pass that is waited for counts at once. With a ``depth`` from 1 on so many passes may be under
    way, and each ends in a thread, in their order, as soon as it can: no collective begins because
    a worker waits, nor does a worker wait for another one to wait. What it has become counts at
    :meth:`end_pass`, so sizes of slots and decisions are the same on all workers in each pass. What
    is left of a pass is in the next one's gradients; what turns out to be lost is added at its end.

    Shares of no region are averaged whole, as :class:`DenseExchange` does it.

    Parameters
    ----------
    group : ProcessGroup or None
        The workers; uncompressed elements go here.
    lockstep : Lockstep
        Tells why a worker failed; passes are agreed on over its group. With a depth nobody else
        uses it.
    options : CompressionOptions
        Masks and all else.
    shares : sequence of sequences of int
        Elements of each share that a region consists of, by the region's number.
    whole_passes : bool
        A number that is not finite makes a whole pass void, not only a region.
    idle_waits : bool
        As that of :class:`~.compressor.Compressor`.
    device : Coder or None
        The device that is registered, if there is one.
    depth : int
        Passes under way at a time, each of them once per step; 0: each is waited for.
    frames : ProcessGroup or None
        Where frames go, on the CPU; with a depth nobody else uses it. ``None``: that of
        ``lockstep``.

    Members
    -------
    passes : int
        Backward passes whose exchange has departed.
    counts : Counts
        What did not go as it should.
    bypass : Bypass
        Decides where gradients go uncompressed.
    mask : Mask
        The mask.
    """

    remembers = True

    def __init__(
        self,
        group: dist.ProcessGroup | None,
        lockstep: Lockstep,
        options: CompressionOptions,
        shares: Sequence[Sequence[int]],
        *,
        whole_passes: bool = False,
        idle_waits: bool = False,
        device: Coder | None = None,
        depth: int = 0,
        frames: dist.ProcessGroup | None = None,
    ) -> None:
        self.workers = dist.get_world_size(group)
        self.rank = dist.get_rank(group)
        self.bytes_sent = 0
        self.passes = 0
        self.counts = Counts()
        self.bypass = Bypass(options.bypass, options.worth)
        coder = coder_of(options.coder, device)
        self.mask = mask_of(options, self.rank, coder)
        self.once = options.once
        self._choices = options.saved()
        self._depth = depth
        self._own = [frames, lockstep.group] if depth and frames else []
        self._dense = DenseExchange(group)
        self._feedback = Feedback(
            enabled=options.error_feedback,
            momentum=options.momentum,
            nesterov=options.nesterov,
            masks_momentum=options.masks_momentum,
        )
        sizes = [size for own in shares for size in own]
        check_sizes(sizes, options.budget)
        self._target = Target(options, sum(sizes))
        self._plan = Plan(options.plan_passes, self._target)
        self._stopwatch = Stopwatch()
        parts: dict[str, Any] = {
            "feedback": self._feedback,
            "mask": self.mask,
            "target": self._target,
        }
        self._sending = Sending(
            group,
            frames or lockstep.group,
            options,
            coder,
            plan=self._plan,
            idle_waits=idle_waits,
            **parts,
        )
        parts["bypass"] = self.bypass
        groups = Groups([*map(sum, shares)])
        self._departure = Departure(self.workers, self._sending, groups, **parts)
        self._arrival = Arrival(
            group,
            lockstep,
            coder,
            self._sending,
            probe=Probe(lockstep.group if depth else group, lockstep.group),
            stopwatch=self._stopwatch,
            whole_passes=whole_passes,
            **parts,
        )
        self._ends: type[Ending] = Aside if depth else WhenAsked
        self._current: Passage | None = None
        self._departed: deque[Passage] = deque()
        self._tally = Tally()

    @property
    def masked_by_coder(self) -> int:
        """Number of this worker's frames, since it began or resumed, that the coder has masked."""
        return self._sending.masked

    @property
    def _kind(self) -> str:
        return type(self.mask).__name__

    def begin(self, shares: Sequence[Share], flat: Flat | None = None) -> Pending:
        """As :meth:`Exchange.begin`; the oldest pass ends first, if as many are under way."""
        passage = self._opened()
        alone = [share for share in shares if share.region is None]
        own = [share for share in shares if share.region is not None]
        pending = Beginning(self.finish, passage, self._dense.begin(alone) if alone else None)
        self.bytes_sent += sum(share.mean.nbytes for share in alone)
        if own:
            self._departure.begin(self.passes, passage, own, flat)
        return pending

    def depart(self) -> Exception | None:
        """As :meth:`Exchange.depart`; with a depth, also where nothing has begun."""
        if self._current is None and not self._depth:
            return self._sending.failure
        passage, self._current = self._opened(), None
        if not passage.is_empty:
            self._stopwatch.waits()
            self._departure.leave(self.passes, passage)
            self.bytes_sent += sum(one.bytes_sent for one in passage.begun)
            self.passes += 1
            before = next((own.ending for own in reversed(self._departed) if own.ending), None)
            passage.ending = self._ends(
                partial(self._arrival.end, self.passes - 1, passage), before
            )
        self._departed.append(passage)
        return self._sending.failure

    def end_pass(self) -> None:
        """As :meth:`Exchange.end_pass`: wait for the oldest one, and have it count.

        Raises
        ------
        WorkerFailedError, WorkerLostError
            If the workers cannot go on together. On a worker that failed, its own error.
        """
        passage = self._departed[0]
        passage.wait()
        self._departed.popleft()
        outcome = passage.outcome
        if outcome is None:
            return
        self._feedback.give_back(outcome.lost)
        for layout, longest in outcome.wanted:
            self._plan.wanted(layout, longest)
        self._plan.end_pass(outcome.number)
        if outcome.refused:
            self.bypass.refused()
        self.counts.add(outcome.counts)
        self._tally.add(outcome.sent.items())
        self.bytes_sent += outcome.bytes_sent
        if outcome.times is not None:
            self.bypass.decide(self.passes, outcome.times)

    def finish(self, passage: Passage) -> None:
        """Wait for a pass; without a depth all end that have departed."""
        if passage is self._current:
            self.depart()
        passage.wait()
        while self._departed and not self._depth:
            self.end_pass()

    def sent(self) -> dict[int, Sent]:
        """As :meth:`Exchange.sent`."""
        return self._tally.take()

    def close(self) -> None:
        """As :meth:`Exchange.close`."""
        let_go(self.mask)
        while self._own:
            give_back(self._own.pop())

    def common(self) -> dict[str, Any]:
        """State that all workers must have in common, by what it is called where it differs."""
        plan, bypass = self._plan.state_dict(), self.bypass.state_dict()
        return {
            "backward passes of the state": self.passes,
            "sizes of slots of the state, by checksum,": crc32(repr(plan).encode()),
            "decisions of the state, by checksum,": crc32(repr(bypass).encode()),
        }

    def state_dict(self) -> dict[str, Any]:
        """As :meth:`Exchange.state_dict`.

        Raises
        ------
        RuntimeError
            If an exchange is under way, or the last one has failed: what it had sent is in no
            average and in no residual.
        Exception
            Why this worker cannot go on, if the others have yet to be told of it.
        """
        failure = self._sending.failure
        if failure is not None and not is_known(failure):
            raise failure
        if self._current is not None or not all(own.arrived() for own in self._departed):
            raise RuntimeError("state must be taken when no exchange is under way")
        if any(own.has_failed for own in self._departed):
            raise RuntimeError(
                "state must be taken before an exchange fails: what this one has sent is lost; "
                "go on from the state of an earlier step"
            )
        state = {
            "kind": self._kind,
            "choices": self._choices,
            "passes": self.passes,
            "counts": self.counts.state_dict(),
            "feedback": self._feedback.state_dict(),
            "mask": self.mask.state_dict(),
            "target": self._target.state_dict(),
            "plan": self._plan.state_dict(),
            "bypass": self.bypass.state_dict(),
            "elsewhere": self._stopwatch.elsewhere if self.bypass.is_automatic else 0.0,
            "outcomes": [own.outcome and own.outcome.save() for own in self._departed],
        }
        return state | {"entries": entries_of(state)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As :meth:`Exchange.load_state_dict`.

        Raises
        ------
        ValueError
            If it is of another mask, or of other choices, or not whole; then nothing has changed.
        """
        check_parts(state, *_PARTS)
        if state["kind"] != self._kind:
            raise ValueError(f"mask of the state must be {self._kind}, not {state['kind']}")
        for name, own in self._choices.items():
            if (found := state.get("choices", {}).get(name, own)) != own:
                raise ValueError(f"{name} of the state must be {own!r}, not {found!r}")
        check_whole(state)
        self.mask.load_state_dict(state["mask"])  # first: one that is not ours may refuse it
        self.passes = state["passes"]
        self.counts.load_state_dict(state["counts"])
        for part, name in (
            (self._feedback, "feedback"),
            (self._target, "target"),
            (self._plan, "plan"),
            (self.bypass, "bypass"),
        ):
            part.load_state_dict(state[name])
        self._stopwatch.elsewhere = state.get("elsewhere", 0.0)
        restored = (saved and Outcome.restored(saved) for saved in state["outcomes"])
        self._departed = deque(map(Passage, restored))

    def _opened(self) -> Passage:
        """The pass that has not departed."""
        if self._current is None:
            while len(self._departed) >= max(1, self._depth):
                self.end_pass()
            self._current = Passage()
        return self._current
