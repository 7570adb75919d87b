"""A tensor's normalised variance, against exact fractions."""

from fractions import Fraction

import pytest
import torch

from adagrain.models.numerics.normalised_variance import exponent_of, normalised_variance_of
from adagrain.models.statistics import statistics, unbiased


def normalised_variance(x: torch.Tensor) -> tuple[int, int] | None:
    return normalised_variance_of(statistics(x, None, powers=2))


@pytest.mark.parametrize("seed", range(5))
def test_is_variance_over_largest_square(seed: int) -> None:
    x = torch.randn(300, generator=torch.Generator().manual_seed(seed)) * 10.0 ** (seed - 2)
    found = normalised_variance(x)
    assert found is not None
    exact = [Fraction(value) for value in x.tolist()]
    mean = sum(exact) / len(exact)
    variance = sum((value - mean) ** 2 for value in exact) / len(exact)
    wanted = variance / max(abs(value) for value in exact) ** 2
    assert found[0] / found[1] == pytest.approx(float(wanted), rel=2e-4)


def test_follows_no_scale() -> None:
    x = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    assert len({normalised_variance(x * 2.0**power) for power in range(-60, 61, 8)}) == 1


def test_subnormal_numbers_are_no_exception() -> None:
    x = torch.tensor([2.0**-127, -(2.0**-127), 0.0, 0.0])
    found = normalised_variance(x)
    assert found is not None
    assert Fraction(*found) == Fraction(1, 2)


def test_fits_the_record() -> None:
    largest = torch.tensor([1.99999988, -1.99999988])  # would round up to the next power of two
    found = normalised_variance(largest)
    assert found is not None
    assert found[0] <= found[1] < 1 << 32


@pytest.mark.parametrize("wrong", [[0.0, 0.0], [1.0, float("nan")], [float("inf"), 1.0]])
def test_nothing_to_decide_from(wrong: list[float]) -> None:
    assert normalised_variance(torch.tensor(wrong)) is None


@pytest.mark.parametrize("largest", [0.0, 1e-45, 1e-38, 2.0**-126, 0.75, 1.0, 3e38])
def test_the_exponent_is_that_of_the_largest_element(largest: float) -> None:
    x = torch.tensor([largest / 2, -largest, 0.0])
    assert exponent_of(x) == unbiased(statistics(x, None, powers=2).exponent)


def test_the_exponent_of_what_is_not_finite_is_the_largest() -> None:
    for value in (torch.inf, -torch.inf, torch.nan):
        assert exponent_of(torch.tensor([1.0, value])) == 127
