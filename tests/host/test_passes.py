"""Passes over tensors through the driver: differences, and any unit by its descriptor."""

import gc
import sys
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from golden_device import opened
from matrices import GRANULAR as BUILT

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.errors import DeviceError
from adagrain.host.link.transport import connect
from adagrain.host.link.transport.golden import GoldenTransport
from adagrain.models.difference import difference
from adagrain.sim.simulators import runner

needs_verilator = pytest.mark.skipif(
    runner.missing("verilator") is not None, reason=str(runner.missing("verilator"))
)

GUESS, TRUTH = torch.randn(2, 3, 37, generator=torch.Generator().manual_seed(3))


@pytest.fixture(scope="module", params=["golden:", "sim:", "frames"])
def device(request: pytest.FixtureRequest) -> Iterator[Coprocessor]:
    """A device with a data port, golden or RTL, and one whose tensors come in requests."""
    if request.param != "golden:" and (reason := runner.missing("verilator")):
        pytest.skip(reason)
    options = {"data_port": False} if request.param == "frames" else {}
    url = "sim:" if options else request.param
    with adagrain.open_device(url, BUILT, **options) as opened:
        yield opened


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_differences_are_the_golden_models(device: Coprocessor, dtype: torch.dtype) -> None:
    a, b = GUESS.to(dtype), TRUTH.to(dtype)
    before = device.counters()["pairs"]
    for exponent in (None, 0, -126):
        assert device.difference(a, b, exponent) == difference(a, b, exponent, kernel="reference")
    assert device.difference(b, b).bitwise_equal
    assert device.difference(a.t()[:5], b.t()[:5]) == difference(a.t()[:5], b.t()[:5])
    assert device.difference(a[0, :1], b[0, :1]).count == 1
    assert device.counters()["pairs"] - before == 4 * 111 + 15 + 1


def test_several_differences_are_those_of_single_ones(device: Coprocessor) -> None:
    """More passes than a window holds, of different lengths and types; each counts."""
    lengths = [1, 3, 40, 111, *[5] * 40]
    pairs = [(GUESS.view(-1)[:length], TRUTH.view(-1)[:length]) for length in lengths]
    pairs[2] = (pairs[2][0].bfloat16(), pairs[2][1].bfloat16())
    pairs[3] = (TRUTH.t(), TRUTH.t())
    exponents = [number % 4 - 2 for number in range(len(pairs))]
    before = device.counters()["pairs"]
    found = device.differences_of(pairs, exponents)
    assert device.counters()["pairs"] - before == sum(lengths)
    rows = [*zip(pairs, exponents, strict=True)]
    assert found == [device.difference(a, b, exponent) for (a, b), exponent in rows]
    assert found == [difference(a, b, e, kernel="reference") for (a, b), e in rows]
    assert device.differences_of([], []) == []


def test_wrong_arguments_of_several(device: Coprocessor) -> None:
    with pytest.raises(ValueError, match="exponents must be as many as the 2 pairs, not 1"):
        device.differences_of([(GUESS, TRUTH)] * 2, [0])
    with pytest.raises(ValueError, match=r"shape of b must be that of a, \(3, 37\), not \(37, 3\)"):
        device.differences_of([(GUESS, TRUTH), (GUESS, TRUTH.t())], [0, 0])
    with pytest.raises(ValueError, match="exponent must be from -126 to 127, not 128"):
        device.differences_of([(GUESS, TRUTH)] * 2, [0, 128])
    with pytest.raises(TypeError, match="b must be a tensor, not list"):
        device.differences_of([(GUESS, [1.0])], [0])
    with pytest.raises(ValueError, match=r"tensor must have 1 to .* elements, not 0"):
        device.differences_of([(GUESS[:0], TRUTH[:0])], [0])


def test_passes_of_any_unit(device: Coprocessor) -> None:
    found = device.run_pass("difference", [GUESS, TRUTH], exponent=127)
    assert found == vars(difference(GUESS, TRUTH, 0))
    record = device.run_pass("statistics", [TRUTH], exponent=127)
    assert record["s2"] == device.statistics(TRUTH, 0).s2


class Interrupted(GoldenTransport):
    """The golden device; Ctrl-C comes behind so many requests."""

    left = sys.maxsize

    def send(self, raw: bytes) -> None:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        super().send(raw)


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Nothing that is only in a cycle goes meanwhile."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
def test_a_pass_that_has_ended_keeps_no_tensor(device: Coprocessor) -> None:
    numbers = np.ones(4096, np.float32)
    kept = weakref.ref(numbers)
    assert device.statistics(torch.from_numpy(numbers), 0).count == 4096
    del numbers
    assert kept() is None


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("url", ["golden:", pytest.param("sim:", marks=needs_verilator)])
def test_a_transport_that_was_closed_keeps_no_tensor(url: str) -> None:
    transport = connect(url, BUILT)
    words = np.ones(4096, np.uint32)
    kept = weakref.ref(words)
    transport.load(words)
    del words
    assert kept() is not None
    for _ in range(2):
        transport.close()
    assert kept() is None


@pytest.mark.usefixtures("uncollected")
def test_a_device_that_was_closed_within_a_pass_keeps_no_tensor() -> None:
    transport = Interrupted(BUILT)
    device, numbers = opened(transport), np.ones(4096, np.float32)
    kept = weakref.ref(numbers)
    transport.left = 1
    with pytest.raises(KeyboardInterrupt):
        device.statistics(torch.from_numpy(numbers), 0)
    del numbers
    assert kept() is not None
    device.close()
    assert kept() is None


def test_wrong_arguments(device: Coprocessor) -> None:
    with pytest.raises(ValueError, match=r"shape of b must be that of a, \(3, 37\), not \(37, 3\)"):
        device.difference(GUESS, TRUTH.t())
    with pytest.raises(TypeError, match=r"dtype of b must be .*, torch\.float32, not"):
        device.difference(GUESS, TRUTH.bfloat16())
    with pytest.raises(ValueError, match="exponent must be from -126 to 127, not 128"):
        device.difference(GUESS, TRUTH, 128)
    with pytest.raises(TypeError, match="a must be a tensor, not list"):
        device.difference([1.0], TRUTH)
    with pytest.raises(ValueError, match=r"unit must be one of statistics, .*, not 'codec'"):
        device.run_pass("codec", [TRUTH])
    with pytest.raises(ValueError, match="tensors of difference must be a and b, not 1 of them"):
        device.run_pass("difference", [TRUTH])
    with pytest.raises(ValueError, match=r"field must be one of .*, not 'threshold'"):
        device.run_pass("statistics", [TRUTH], threshold=1)
    message = "fields of statistics must be other than what the tensors say, not count, from_link"
    with pytest.raises(ValueError, match=message):
        device.run_pass("statistics", [TRUTH], exponent=127, from_link=1, count=3)
    with pytest.raises(ValueError, match=r"fields of difference must be .* say, not format"):
        device.run_pass("difference", [GUESS, TRUTH], exponent=127, format=0)
    with pytest.raises(DeviceError, match=r"BEGIN of difference was refused by .*: BAD_VALUE"):
        device.run_pass("difference", [GUESS, TRUTH], exponent=0)
    assert device.difference(TRUTH, TRUTH).bitwise_equal


def test_a_build_without_the_unit() -> None:
    with adagrain.open_device("golden:", "tiny") as tiny:
        with pytest.raises(
            ValueError, match="needs a build that has it, which device preset 'tiny' has"
        ):
            tiny.difference(GUESS, TRUTH)
