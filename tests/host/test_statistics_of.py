"""Statistics of several tensors in one call of the driver: equal to single calls, everywhere."""

import logging
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from builds import TINY
from device_ways import SMALL, WAYS
from golden_device import opened
from transports import BreakingTransport, DyingTransport

import adagrain
from adagrain.host.errors import ClosedError
from adagrain.host.link.transport.golden import GoldenTransport
from adagrain.models.statistics import Statistics, statistics_of


def tensors(seed: int = 5) -> tuple[list[torch.Tensor], list[int]]:
    """FP32 of sizes that are no whole groups, among them views, infinities and an only element."""
    generator = torch.Generator().manual_seed(seed)
    sizes = (1, 3, 4, 30, 129, 500)
    made = [torch.randn(size, generator=generator) for size in sizes]
    made += [made[5].view(20, 25).t(), made[4][::3]]
    made[3][4] = torch.inf
    return made, [0, 3, -2, 1, 0, -1, 2, 5]


@pytest.mark.parametrize("way", WAYS)
def test_they_are_those_of_single_calls(way: str) -> None:
    given, exponents = tensors()
    with WAYS[way]() as device:
        before = device.counters()["elements"]
        found = device.statistics_of(given, exponents)
        counted = device.counters()["elements"] - before
        rows = zip(given, exponents, strict=True)
        assert found == [device.statistics(x, exponent) for x, exponent in rows]
        powers = device.configuration.powers
        assert found == statistics_of(given, exponents, powers=powers, kernel="reference")
        if way != "reset":  # which forgets what it has counted
            assert counted == sum(x.numel() for x in given)
        assert device.statistics_of([], []) == []


def test_without_frames_none_is_sent() -> None:
    given, exponents = tensors()
    with adagrain.open_device("golden:", SMALL) as device:
        before = device.counters()["commands"]
        device.statistics_of(given, exponents)
        reading = device.counters()["commands"] - before
        assert device.counters()["commands"] - before == 2 * reading
        assert "without frames" in device.backend
    with adagrain.open_device("golden:", SMALL, direct=False) as device:
        assert "without frames" not in device.backend


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([torch.ones(3)] * 2, [1]), ValueError, "exponents must be as many as the 2 tensors, no"),
        (([torch.ones(3)], [128]), ValueError, "exponent must be from -126 to 127, not 128"),
        (([torch.ones(3)], [1.5]), TypeError, r"exponent must be an integer, not 1\.5"),
        (([torch.ones(3)], [None]), TypeError, "exponent must be an integer, not None"),
        (([torch.ones(0)], [0]), ValueError, r"tensor must have 1 to 2\*\*32-1 elements, not 0"),
        (([torch.ones(3).double()], [0]), TypeError, "dtype must be one of .*, not .*float64"),
        (
            ([torch.ones(3).half()], [0]),
            TypeError,
            "one of FP32, BF16 on device preset 'tiny', not FP16",
        ),
        (([[1.0]], [0]), TypeError, "x must be a tensor, not list"),
    ],
)
@pytest.mark.parametrize("direct", [True, False])
def test_bad_arguments(
    arguments: tuple[Any, Any], error: type[Exception], message: str, direct: bool
) -> None:
    with adagrain.open_device("golden:", TINY, direct=direct) as device:
        with pytest.raises(error, match=message):
            device.statistics_of(*arguments)
        assert device.statistics_of([torch.ones(3)], [0])[0].count == 3, "the device goes on"


def test_a_device_that_was_closed() -> None:
    device = adagrain.open_device("golden:", SMALL)
    device.close()
    with pytest.raises(ClosedError, match="device must be open, but golden model"):
        device.statistics_of([torch.ones(3)], [0])


class FaultyTransport(GoldenTransport):
    """Golden models whose direct way raises an error."""

    def statistics_of(
        self, tensors: Sequence[torch.Tensor], exponents: Sequence[int]
    ) -> list[Statistics]:
        raise ArithmeticError("a fault of the models")


@pytest.mark.parametrize(
    ("transport", "reason"),
    [
        (FaultyTransport(SMALL, direct=True), "ArithmeticError: a fault of the models"),
        (BreakingTransport(SMALL, answers=4, error=OSError("gone")), "OSError: gone"),
        (DyingTransport(SMALL, answers=4), "no answer from golden model"),
    ],
)
def test_a_fault_is_seen_and_the_golden_model_takes_over(
    transport: GoldenTransport, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    given, exponents = tensors()
    with opened(transport, SMALL) as device, caplog.at_level(logging.ERROR):
        device.replaceable = True
        wanted = statistics_of(given, exponents, powers=SMALL.powers)
        assert device.statistics_of(given, exponents) == wanted
        assert device.counters()["fallbacks"] == 1
        assert f"DEVICE FAILED: {reason}" in caplog.text
