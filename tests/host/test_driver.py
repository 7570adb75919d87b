"""The driver's arguments and its state: what calls leave behind, whether they succeed or not."""

import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torch

import adagrain
from adagrain.host.driver import Coprocessor
from adagrain.host.errors import ClosedError, DeviceError
from adagrain.host.failover import Failover
from adagrain.host.transport.golden import GoldenTransport
from adagrain.models.configuration import Configuration, configuration
from adagrain.models.precision_controller import precision_record
from adagrain.models.records import PrecisionRecord, RegionRecord, size, unpack
from adagrain.models.region_manager import default_parameters, region_record
from adagrain.models.statistics import statistics

HOST = str(Path(adagrain.__file__).with_name("host"))

GRANULAR = configuration("granular", slices=2, operands=64)
LONG = configuration("granular", slices=2, operands=64, payload=4096, regions=1024)

RECORD = precision_record((0.1, 0.2, 0.3), hysteresis=0.02, dwell=1)
UPDATE = {"exponent": 130, "usable": 1, "decide": 1, "a": 1 << 30, "n": 1 << 28}


@pytest.fixture
def device() -> Iterator[Coprocessor]:
    with adagrain.open_device("golden:", GRANULAR) as opened:
        yield opened


def agree(device: Coprocessor) -> None:
    """Demand that the device's tables are the driver's copies."""
    state = device.state_dict()
    assert device.read_table(0, len(state["table"]) // size(RegionRecord)) == state["table"]
    wanted = [unpack(PrecisionRecord, record) for record in state["precisions"]]
    assert device.precisions.read(0, len(wanted)) == wanted


@pytest.mark.parametrize("count", [31, 32, 63, 1024])
def test_long_tables_are_read_in_parts(count: int) -> None:
    """More words, or records, than the count of one read can say."""
    with adagrain.open_device("golden:", LONG) as device:
        records = [region_record(phase_epoch=number) for number in range(count)]
        device.configure_regions(records, default_parameters(2))
        assert device.read_table(0, count) == b"".join(records)
        assert [r["phase_epoch"] for r in device.read_regions(0, count)] == [*range(count)]
        wanted = [precision_record((0, 0, 0), dwell=number % 256) for number in range(count)]
        device.precisions.configure(wanted)
        found = device.precisions.read(0, count)
        assert [record["dwell_length"] for record in found] == [n % 256 for n in range(count)]


def _views() -> dict[str, torch.Tensor]:
    x = torch.randn(6, 10, generator=torch.Generator().manual_seed(3))
    complex_numbers = torch.view_as_complex(x.reshape(6, 5, 2))
    return {
        "column of one": x[:1, 0],
        "scalar": x[2, 3],
        "transposed": x.t(),
        "every other": x[::2, 1::3],
        "expanded": x[:, :1].expand(6, 7),
        "negative bit": complex_numbers.conj().imag,
        "scalar with negative bit": complex_numbers.conj()[0, 0].imag,
        "real part": complex_numbers.real,
        "bfloat16": x.bfloat16()[:1, 3],
        "float16": x.half()[1:, ::4],
        "needs a gradient": x.clone().requires_grad_()[3:4, 2],
        "parameter": torch.nn.Parameter(x)[:, 1],
        "flipped": x.flip(0)[0],
        "five dimensions": x.reshape(1, 2, 3, 2, 5).permute(4, 0, 2, 3, 1),
    }


@pytest.mark.parametrize("view", _views())
@pytest.mark.parametrize("data_port", [True, False])
def test_views_are_read_in_the_order_of_their_indices(
    view: str, data_port: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GoldenTransport, "data_port", data_port)
    x = _views()[view]
    plain = torch.tensor(x.detach().reshape(-1).tolist()).to(x.dtype)
    with adagrain.open_device("golden:", GRANULAR) as device:
        assert device.statistics(x, histogram=True) == statistics(plain, None, histogram=True)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1.0, 2.0], "x must be a tensor, not list"),
        (np.ones(3, np.float32), "x must be a tensor, not ndarray"),
        (None, "x must be a tensor, not NoneType"),
        (torch.ones(3).to_sparse(), r"must be dense and hold data, but it is torch\.sparse_coo"),
        (torch.ones(3, device="meta"), "must be dense and hold data, but it is meta"),
        (torch.ones(3, dtype=torch.complex64), r"dtype must be one of .*, not torch\.complex64"),
    ],
)
def test_what_is_no_plain_tensor_is_named(device: Coprocessor, x: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        device.statistics(x)


@pytest.mark.parametrize("exponent", [3, np.int64(3), np.uint8(3), torch.tensor(3)])
def test_exponents_may_be_any_integer(device: Coprocessor, exponent: Any) -> None:
    x = torch.randn(9, generator=torch.Generator().manual_seed(1))
    assert device.statistics(x, exponent) == statistics(x, 3)
    assert device.statistics(x, True) == statistics(x, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.statistics(torch.ones(3), 1.5), "exponent must be an integer, not 1.5"),
        (lambda d: d.statistics(torch.ones(3), "1"), "exponent must be an integer, not '1'"),
        (lambda d: d.read_table(0.0, 1), "first must be an integer, not 0.0"),
        (lambda d: d.read_regions(0, 1.0), "count must be an integer, not 1.0"),
        (lambda d: d.configure_regions([], {"workers": 1.5}), "workers must be an integer, not 1"),
        (lambda d: d.update_regions([{"a": 1.5}]), "a must be an integer, not 1.5"),
        (lambda d: d.update_regions([], loss=0.5), "loss must be an integer, not 0.5"),
        (lambda d: d.precisions.read(None, 1), "first must be an integer, not None"),
    ],
)
def test_no_integers(device: Coprocessor, call: Callable[[Coprocessor], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(device)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.read_table(0, 257), "regions must be from 0 to 255, not 0 to 256"),
        (lambda d: d.read_table(-1, 1), "regions must be from 0 to 255, not -1 to -1"),
        (lambda d: d.read_regions(0, -1), "count must be 0 or more, not -1"),
        (lambda d: d.precisions.read(255, 2), "units must be from 0 to 255, not 255 to 256"),
        (lambda d: d.update_regions([{}]), "must be configured before they are updated"),
        (lambda d: d.update_regions([]), "must be configured before they are updated"),
        (lambda d: d.update_regions([{"region": 256}]), "region must be from 0 to 255, not 256"),
        (
            lambda d: d.configure_regions([], default_parameters(1) | {"workers": 1025}),
            "workers must be from 1 to 1024, not 1025",
        ),
        (
            lambda d: d.configure_regions([], default_parameters(1) | {"t0": 65536}),
            "t0 must be from 0 to 65535, not 65536",
        ),
        (lambda d: d.configure_regions([], {}), "workers must be from 1 to 1024, not 0"),
        (lambda d: d.precisions.decide([{}]), "unit must be one that was configured, but none was"),
    ],
)
def test_out_of_range(
    device: Coprocessor, call: Callable[[Coprocessor], Any], message: str
) -> None:
    """The call is refused, leaves nothing behind, and the next one works."""
    with pytest.raises(ValueError, match=message):
        call(device)
    assert device.state_dict()["table"] == b""
    device.configure_regions([region_record()], default_parameters(2))
    with pytest.raises(ValueError, match="region must be one that was configured, 0 to 0, not 1"):
        device.update_regions([{"region": 1}])
    device.update_regions([UPDATE])
    assert device.counters()["sessions"] == 1
    agree(device)


class MutedTransport(GoldenTransport):
    """The golden device; while ``is_mute`` nothing that it says arrives."""

    is_mute = False

    def receive(self, frames: int, timeout: float) -> bytes:
        octets = super().receive(frames, timeout)
        return b"" if self.is_mute else octets

    def send_break(self) -> None:
        """The line is cut: not even that arrives."""


def opened(
    transport: GoldenTransport, built: Configuration = GRANULAR, **options: Any
) -> Coprocessor:
    limits = {"timeout": 0.01, "retries": 1} | options
    return Coprocessor(transport, built, url="test:", **limits)


def calls(device: Coprocessor) -> list[Callable[[], Any]]:
    """One of each kind, with the same results whenever they are made in this order."""
    x = torch.randn(50, generator=torch.Generator().manual_seed(1))
    a, b = (torch.ones(2, 2, dtype=torch.int8) * n for n in (3, 5))
    update = {"unit": 1, "variance": 1, "square": 9}
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

    def send(self, octets: bytes) -> None:
        self._interrupt(lambda: super(InterruptedTransport, self).send(octets))

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


def test_parameters_alone_are_sent(device: Coprocessor) -> None:
    device.configure_regions([], default_parameters(2))
    assert device.update_regions([], loss=1 << 16) == []
    device.configure_regions([region_record()], default_parameters(2))
    device.configure_regions([], default_parameters(1024) | {"noise": 7})
    for step in range(4):
        device.update_regions([UPDATE], loss=1 << step, epoch_end=True)
    agree(device)


def test_a_smaller_state_leaves_nothing_of_a_larger_one(device: Coprocessor) -> None:
    device.configure_regions([region_record()] * 2, default_parameters(2))
    device.precisions.configure([RECORD])
    smaller = device.state_dict()
    device.configure_regions([region_record(policy=3)] * 9, default_parameters(7))
    device.precisions.configure([precision_record((0.1, 0.2, 0.3), dwell=3)] * 9)
    device.load_state_dict(smaller)
    assert device.state_dict() == smaller
    agree(device)
    assert [record["valid"] for record in device.read_regions(0, 10)] == [1, 1] + [0] * 8
    assert [r["dwell_length"] for r in device.precisions.read(1, 9)] == [0] * 9
    with pytest.raises(ValueError, match="region must be one that was configured, 0 to 1, not 2"):
        device.update_regions([{"region": 2}])


def test_the_state_of_a_device_that_was_never_configured(device: Coprocessor) -> None:
    with adagrain.open_device("golden:", GRANULAR) as fresh:
        state = fresh.state_dict()
    device.configure_regions([region_record()] * 3, default_parameters(2))
    device.load_state_dict(state)
    assert device.state_dict() == state
    assert [record["valid"] for record in device.read_regions(0, 3)] == [0] * 3
    with pytest.raises(ValueError, match="must be configured before they are updated"):
        device.update_regions([])
    device.configure_regions([region_record()], default_parameters(2))
    device.update_regions([UPDATE])
    agree(device)


@pytest.mark.parametrize(
    "call",
    [
        lambda d: d.echo(b""),
        lambda d: d.statistics(torch.ones(3)),
        lambda d: d.counters(),
        lambda d: d.info(),
        lambda d: d.update_regions([]),
        lambda d: d.configure_regions([], default_parameters(1)),
        lambda d: d.precisions.configure([]),
        lambda d: d.matmul(torch.ones(1, 1), torch.ones(1, 1), "FP32"),
        lambda d: d.load_state_dict(d.state_dict()),
    ],
)
@pytest.mark.parametrize("guard", [lambda device: device, Failover])
def test_a_device_that_was_closed(
    call: Callable[[Any], Any], guard: Callable[[Coprocessor], Any]
) -> None:
    device = guard(adagrain.open_device("golden:", GRANULAR))
    device.close()
    device.close()
    with pytest.raises(ClosedError, match=r"device must be open, but golden model.* was closed"):
        call(device)
    assert device.state_dict()["table"] == b""


def test_threads_share_a_device() -> None:
    """Each call as a whole: their commands do not get in between each other's."""
    x = [torch.randn(40, generator=torch.Generator().manual_seed(n)) for n in range(4)]
    failures = list[BaseException]()
    with opened(GoldenTransport(GRANULAR)) as device:
        device.configure_regions([region_record()] * 4, default_parameters(2))
        device.precisions.configure([RECORD] * 4)

        def work(number: int) -> None:
            try:
                for _ in range(25):
                    found = device.statistics(x[number], 3, histogram=True)
                    assert found == statistics(x[number], 3, histogram=True)
                    device.update_regions([{"region": number, **UPDATE}])
                    device.precisions.decide([{"unit": number, "variance": 1, "square": 3}])
                    assert device.echo(bytes([number])) == bytes([number])
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        agree(device)
        assert device.counters()["sessions"] == 1
        assert device.counters()["decisions"] == 100
