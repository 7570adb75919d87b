"""Calls that fail or are interrupted: driver and device are as before them, or as after them."""

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from golden_device import RECORD, UPDATE, agree, opened
from matrices import GRANULAR

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.errors import DeviceError
from adagrain.host.link.transport.golden import GoldenTransport
from adagrain.models.interface.configuration import Configuration
from adagrain.models.region_manager.table import default_parameters, region_record

HOST = str(Path(adagrain.__file__).with_name("host"))


class MutedTransport(GoldenTransport):
    """The golden device; while ``is_mute`` nothing that it says arrives."""

    is_mute = False

    def receive(self, frames: int, timeout: float) -> bytes:
        raw = super().receive(frames, timeout)
        return b"" if self.is_mute else raw

    def send_break(self) -> None:
        """The line is cut: not even that arrives."""


def calls(device: Coprocessor) -> list[Callable[[], Any]]:
    """One of each kind, with the same results whenever they are made in this order."""
    x = torch.randn(50, generator=torch.Generator().manual_seed(1))
    a, b = (torch.ones(2, 2, dtype=torch.int8) * n for n in (3, 5))
    update = {"channel_group": 1, "variance": 1, "square": 9}
    records = [region_record(phase_epoch=n) for n in range(5)]
    return [
        lambda: device.configure_regions(records, default_parameters(2)),
        lambda: device.precisions.configure([RECORD] * 3),
        lambda: device.statistics(x, 3, histogram=True),
        lambda: device.update_regions([{"region": r, **UPDATE} for r in range(5)], loss=9),
        lambda: device.precisions.decide([update]),
        lambda: device.matmul(a, b, "INT8").values.tolist(),  # noqa: PLW0108
        lambda: device.configure_regions(records[:2], default_parameters(4), first=2),
        lambda: device.echo(b"abc"),
        lambda: device.read_table(0, 5),
    ]


@pytest.mark.parametrize("number", range(9))
def test_a_call_that_failed_has_changed_nothing(number: int) -> None:
    """The line is cut in each call once; then it comes back, and the call is made again."""
    with opened(MutedTransport(GRANULAR)) as whole:
        wanted = [call() for call in calls(whole)]
    transport = MutedTransport(GRANULAR)
    with opened(transport) as device:
        for at, call in enumerate(calls(device)):
            if at == number:
                transport.is_mute = True
                before = device.state_dict()
                with pytest.raises(DeviceError, match=r"no answer from .*, nor after a break"):
                    call()
                assert device.state_dict() == before
                transport.is_mute = False
            assert call() == wanted[at]
            agree(device)


class InterruptedTransport(GoldenTransport):
    """The golden device; Ctrl-C comes in the ``at``-th call of ``send`` or ``receive``.

    Parameters
    ----------
    late : bool
        After what the call does, whose result is then lost.
    """

    at = 0

    def __init__(self, built: Configuration, *, late: bool) -> None:
        super().__init__(built)
        self._late = late

    def send(self, raw: bytes) -> None:
        self._interrupt(lambda: super(InterruptedTransport, self).send(raw))

    def receive(self, frames: int, timeout: float) -> bytes:
        return self._interrupt(lambda: super(InterruptedTransport, self).receive(frames, timeout))

    def _interrupt(self, call: Callable[[], Any]) -> Any:
        self.at -= 1
        if self.at == 0 and not self._late:
            raise KeyboardInterrupt
        result = call()
        if self.at == 0:
            raise KeyboardInterrupt
        return result


@pytest.mark.parametrize("late", [False, True])
def test_calls_that_are_interrupted_on_the_line(late: bool) -> None:
    """Wherever Ctrl-C comes, nothing has changed, and the same call then works."""
    transport = InterruptedTransport(GRANULAR, late=late)
    interrupts = 0
    with opened(GoldenTransport(GRANULAR)) as whole, opened(transport) as device:
        for call, wanted in zip(calls(device), calls(whole), strict=True):
            found, result = False, wanted()
            at = 0
            while not found:
                at += 1
                before, transport.at = device.state_dict(), at
                try:
                    assert call() == result
                    found, transport.at = True, 0
                except KeyboardInterrupt:
                    interrupts += 1
                    assert device.state_dict() == before
                    if at % 2:
                        agree(device)
        assert device.counters()["restored"] == 0
    assert interrupts > 30


@pytest.mark.parametrize("late", [False, True])
def test_decisions_without_frames_that_are_interrupted(
    late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport = GoldenTransport(GRANULAR, direct=True)
    adopt = transport.adopt

    def interrupted(*what: Any) -> None:
        if late:
            adopt(*what)
        raise KeyboardInterrupt

    with opened(transport) as device, opened(GoldenTransport(GRANULAR)) as whole:
        for own in (device, whole):
            own.configure_regions([region_record()], default_parameters(2))
        before = device.state_dict()
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(transport, "adopt", interrupted)
            device.update_regions([UPDATE])
        assert device.state_dict() == before
        agree(device)
        assert device.update_regions([UPDATE]) == whole.update_regions([UPDATE])
        agree(device)


@contextmanager
def interrupted(after: int) -> Iterator[list[str]]:
    """Ctrl-C comes before the ``after``-th line of the driver that is run; it is kept where."""
    left, where = after, list[str]()

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(HOST):
            return None
        if event == "line":
            left -= 1
            if left == 0:
                where.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        yield where
    finally:
        sys.settrace(None)


def test_calls_that_are_interrupted_anywhere_in_the_driver() -> None:
    """Driver and device agree after it, and are as before the call or as after it."""
    generator = random.Random(0)
    interrupts = set[str]()
    for number in range(9):
        for _ in range(20):
            with opened(GoldenTransport(GRANULAR)) as device:
                *earlier, call = calls(device)[: number + 1]
                for done in earlier:
                    done()
                before = device.state_dict()
                try:
                    with interrupted(generator.randrange(1, 400)) as where:
                        call()
                except KeyboardInterrupt:
                    interrupts.update(where)
                after = device.state_dict()
                agree(device)
                device.load_state_dict(before)
                call()
                assert after in (before, device.state_dict()), where
                agree(device)
                assert device.echo(b"abc") == b"abc"
    assert len(interrupts) > 50
