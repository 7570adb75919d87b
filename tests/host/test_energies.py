"""Energies of regions: exponents that follow averages, and what is learnt from them."""

import pytest
import torch

import adagrain
from adagrain.host.distributed.energies import Energies
from adagrain.host.distributed.measure import Measure
from adagrain.host.distributed.step import Step
from adagrain.host.telemetry.events import TensorKind
from adagrain.models.statistics import Energy

#: Of an average whose largest element is from 2 to below 4.
FOUND = Energy(s2=900, non_finite=0, saturated=0, largest_exponent=128, zero=0)


def updated(found: Energy, *, exponent: int | None = 5, clean: bool = True) -> Energies:
    energies = Energies([10], workers=2)
    energies.exponents[0] = exponent
    energies.update(0, 400, found, exponent=exponent, clean=clean)
    return energies


@pytest.mark.parametrize(
    ("changed", "exponent"),
    [
        ({}, 3),
        ({"largest_exponent": 0}, -125),
        ({"largest_exponent": 254}, 127),
        ({"non_finite": 4}, 3),
        ({"s2": 0, "largest_exponent": 100}, -25),
        ({"s2": 0, "largest_exponent": 0, "zero": 1}, 5),
    ],
)
def test_the_exponent_follows_the_average_unless_that_is_zero(
    changed: dict[str, int], exponent: int
) -> None:
    assert updated(FOUND._replace(**changed)).exponents == [exponent]


@pytest.mark.parametrize(
    ("changed", "exponent", "clean", "usable"),
    [
        ({}, 5, True, True),
        ({}, None, True, False),
        ({}, 5, False, False),
        ({"saturated": 1}, 5, True, False),
        ({"non_finite": 1}, 5, True, False),
    ],
)
def test_what_is_learnt_from(
    changed: dict[str, int], exponent: int | None, clean: bool, usable: bool
) -> None:
    found = Energies([10], workers=2).update(
        0, 400, FOUND._replace(**changed), exponent=exponent, clean=clean
    )
    assert found == {"exponent": 127 + (exponent or 0), "usable": usable, "a": 400, "n": 900}


@pytest.mark.parametrize(("elements", "shift"), [(1 << 25, 0), (1 << 26, 1), (1 << 30, 5)])
def test_energies_of_large_regions_are_shortened(elements: int, shift: int) -> None:
    energies = Energies([elements], workers=1)
    local = energies.local(0, FOUND._replace(non_finite=2, saturated=3))
    assert local == (900 >> shift, 2, 3)


def test_batches_that_come_no_more_are_let_go() -> None:
    """Each look is at what it was given, whatever was looked at before."""
    with adagrain.open_device("golden:") as device:
        measure, step = Measure(device, ["one"], []), Step(0, exponents=[0])
        for number in range(40):
            x = torch.full((3,), 0.25 * (number % 4))
            found = measure.energies(step, TensorKind.LOCAL, [0], [x])
            assert found == {0: device.energies_of([x], [0])[0]}
            assert len(measure._batches) <= 16
