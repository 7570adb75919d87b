"""Energies of several tensors in one call of the driver: what their statistics have, everywhere."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from builds import TINY
from device_ways import SMALL, WAYS
from golden_device import opened
from transports import BreakingTransport

import adagrain
from adagrain.host.errors import ClosedError
from adagrain.models.statistics import Energy, statistics


def tensors() -> tuple[list[torch.Tensor], list[int]]:
    """FP32 of sizes that are no whole groups, among them a view, infinities and clamped ones."""
    generator = torch.Generator().manual_seed(7)
    made = [torch.randn(size, generator=generator) for size in (1, 30, 129, 500)]
    made.append(made[3].view(20, 25).t())
    made[1][4] = torch.inf
    return made, [0, 3, -2, 1, 0]


def wanted(given: list[torch.Tensor], exponents: list[int]) -> list[Energy]:
    rows = zip(given, exponents, strict=True)
    return [Energy.of(statistics(x, exponent, kernel="reference")) for x, exponent in rows]


@pytest.mark.parametrize("way", [way for way in WAYS if way not in ("sim, frames", "lossy")])
def test_they_are_those_of_the_statistics(way: str) -> None:
    given, exponents = tensors()
    with WAYS[way]() as device:
        expected = wanted(given, exponents)
        before = device.counters()["elements"]
        assert device.energies_of(given, exponents) == expected
        if way != "reset":  # which forgets what it has counted
            assert device.counters()["elements"] - before == sum(x.numel() for x in given)
        assert device.energies_of(device.batch(given[:4]), exponents[:4]) == expected[:4]
        assert device.energies_of([], []) == []


@pytest.mark.parametrize("way", ["golden", "golden, frames"])
@pytest.mark.parametrize(
    "changed",
    [
        lambda x: x,
        lambda x: x.view(6, 7),
        lambda x: x.view(6, 7).t(),
        lambda x: x[::2],
        lambda x: x.requires_grad_(),
        lambda x: x.half(),
        lambda x: torch.view_as_complex(x.view(21, 2)).conj().imag,
    ],
)
def test_a_batch_is_what_lies_in_memory_now(
    changed: Callable[[torch.Tensor], torch.Tensor], way: str
) -> None:
    given = [changed(torch.randn(42)), changed(torch.randn(42))]
    with WAYS[way]() as device:
        batch = device.batch(given)
        for _ in range(2):
            assert device.energies_of(batch, [1, 2]) == wanted(given, [1, 2])
            with torch.no_grad():
                given[1].fill_(2.5)


@pytest.mark.parametrize("way", ["golden", "golden, frames"])
@pytest.mark.parametrize(
    "move",
    [
        lambda x: setattr(x, "data", torch.zeros(2, 3)),
        lambda x: x.untyped_storage().resize_(0),
        lambda x: x.untyped_storage().resize_(1 << 20),
    ],
)
@pytest.mark.parametrize("learns", [False, True])
def test_a_batch_whose_memory_is_other_memory_now(
    learns: bool, move: Callable[[torch.Tensor], Any], way: str
) -> None:
    given = [torch.ones(5), torch.ones(2, 3).requires_grad_(learns)]
    with WAYS[way]() as device:
        batch = device.batch(given)
        move(given[1])
        with pytest.raises(ValueError, match=r"must stay where they .* number 1 has moved: m"):
            device.energies_of(batch, [0, 0])
        assert device.energies_of(device.batch(given[:1]), [0])[0].s2


def test_a_batch_keeps_the_memory_that_it_looks_at() -> None:
    x = torch.ones(5)
    with WAYS["golden"]() as device:
        (kept,) = device.batch([x])
        x.data = torch.zeros(5)
        assert kept.tolist() == [1] * 5


ARGUMENTS: list[tuple[Any, type[Exception], str]] = [
    (([torch.ones(3)] * 2, [1]), ValueError, "exponents must be as many as the 2 tensors, no"),
    (([torch.ones(3)], [128]), ValueError, "exponent must be from -126 to 127, not 128"),
    (([torch.ones(3)], [1.5]), TypeError, r"exponent must be an integer, not 1\.5"),
    (([torch.ones(0)], [0]), ValueError, r"tensor must have 1 to 2\*\*32-1 elements, not 0"),
    (([torch.ones(3).double()], [0]), TypeError, "dtype must be one of .*, not .*float64"),
    (([torch.ones(3).half()], [0]), TypeError, "of FP32, BF16 on device preset 'tiny', not FP16"),
    (([[1.0]], [0]), TypeError, "x must be a tensor, not list"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), ARGUMENTS)
@pytest.mark.parametrize("direct", [True, False])
def test_bad_arguments(arguments: Any, error: type[Exception], message: str, direct: bool) -> None:
    with adagrain.open_device("golden:", TINY, direct=direct) as device:
        with pytest.raises(error, match=message):
            device.energies_of(*arguments)
        if "exponent" not in message:
            with pytest.raises(error, match=message):
                device.batch(arguments[0])
        assert not device.energies_of([torch.ones(3)], [0])[0].zero, "the device goes on"


def test_a_batch_of_a_device_that_has_more_formats() -> None:
    with adagrain.open_device("golden:") as other, adagrain.open_device("golden:", TINY) as device:
        batch = other.batch([torch.ones(3), torch.ones(3).half()])
        with pytest.raises(TypeError, match="of FP32, BF16 on device preset 'tiny', not FP16"):
            device.energies_of(batch, [0, 0])


def test_a_device_that_was_closed() -> None:
    device = adagrain.open_device("golden:", SMALL)
    device.close()
    with pytest.raises(ClosedError, match="device must be open, but golden model"):
        device.energies_of([torch.ones(3)], [0])


def test_a_fault_is_seen_and_the_golden_model_takes_over() -> None:
    given, exponents = tensors()
    broken = BreakingTransport(SMALL, answers=4, error=OSError("gone"))
    with opened(broken, SMALL) as device, adagrain.open_device("golden:", SMALL) as golden:
        device.replaceable = True
        batch = device.batch(given)
        assert device.energies_of(batch, exponents) == golden.energies_of(given, exponents)
        assert device.counters()["fallbacks"] == 1
