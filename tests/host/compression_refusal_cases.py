"""Frames of the compressed exchange that do not count."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
import torch.distributed as dist
from compression_hook_cases import damaging
from compression_setup import Setup, case, replaced

from adagrain.host.compression import frames
from adagrain.models import codec


def judged_steps(setup: Setup, steps: int) -> list[int]:
    """Train; the steps in which nothing of this worker has arrived."""
    nothing = []
    for step in range(steps):
        if setup.state.exchange.bypass._refused:
            setup.judged_uncompressed(step)
        elif not setup.judged(step).any():
            nothing.append(step)
        setup.optimizer.step()
    return nothing


@case
def damaged_frames() -> Any:
    """One that a worker finds damaged counts on none, and the next pass sends all there is."""
    for sender, receiver in ((0, 1), (1, 1), (1, 0)):
        setup = Setup(ddp={"bucket_cap_mb": 25}, density=0.2)
        other = damaging(sender, [2])
        with replaced(frames, "_decoded", other) if dist.get_rank() == receiver else nullcontext():
            nothing = judged_steps(setup, 5)
        own = dist.get_rank() == sender
        assert nothing == ([1] if own else [])
        assert setup.state.counts.refused == own and setup.state.counts.dense_after_refusal == 1


class Faulty:
    """The golden codec, which makes one wrong frame on one worker, in its second pass."""

    def __init__(self, wrong: Callable[[bytes], bytes]) -> None:
        self._wrong, self._calls = wrong, 0

    def encode(self, tensors: Any, **options: Any) -> bytes:
        frame = codec.encode(tensors, **options)
        self._calls += 1
        wrong = dist.get_rank() and self._calls == 3  # it was tried once
        return self._wrong(frame) if wrong else frame

    def decode(self, frame: bytes, **options: Any) -> Any:
        return codec.decode(frame, **options)


def with_a_wrong_bit(frame: bytes) -> bytes:
    return bytes([*frame[:20], frame[20] ^ 4, *frame[21:]])


def of_other_elements(frame: bytes) -> bytes:
    """Sound, but what is largest is twice as large."""
    parts = codec.decode(frame)
    largest = max(float(part.abs().max()) for part in parts)
    return codec.encode([torch.where(part.abs() == largest, 2 * part, part) for part in parts])


@case
def frames_that_are_wrong_where_they_are_made() -> Any:
    found = []
    for wrong in (with_a_wrong_bit, of_other_elements):
        for options in ({}, {"mask": "learned", "learned": {"survey_passes": 1}}):
            setup = Setup(density=0.2, coder=Faulty(wrong), **options)
            nothing = judged_steps(setup, 6)
            assert nothing == [1] * dist.get_rank()
            counts = setup.state.counts
            assert counts.refused == dist.get_rank() and counts.dense_after_refusal == 1
            found.append(setup.sha256())
    return found


@case
def refused_in_front_of_a_decision() -> Any:
    """Behind a pass that went uncompressed for a refused frame nothing is decided."""
    setup = Setup(density=0.2, bypass="auto")
    with replaced(frames, "_decoded", damaging(1, [1])):
        setup.train(range(17))
    assert [made.number for made in setup.state.decisions] == [16]
    return setup.state.counts.dense_after_refusal


@case
def resumed_behind_a_refused_frame() -> Any:
    """The next pass of the resumed run goes uncompressed, too."""
    found = []
    for steps in (2, 3):
        one, other, third = (Setup(density=0.2) for _ in range(3))
        for setup, passes in ((one, range(6)), (other, range(steps))):
            with replaced(frames, "_decoded", damaging(0, [2])):
                setup.train(passes)
        third.go_on_from(other)
        third.train(range(steps, 6))
        assert third.sha256() == one.sha256()
        assert third.state.counts == one.state.counts
        found.append(third.state.counts.dense_after_refusal)
    return found
