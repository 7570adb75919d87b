"""Multiples of powers of two, against PyTorch's own rounding."""

import pytest
import torch

from adagrain.models.numerics.rounding import multiples

SHAPE = (3, 4, 5, 2)


@pytest.mark.parametrize("along", [None, (0,), (1,), (0, 2, 3), (1, 2, 3), (1, 3)], ids=str)
@pytest.mark.parametrize("valued", [False, True])
def test_they_are_the_nearest(along: tuple[int, ...] | None, valued: bool) -> None:
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(SHAPE, generator=generator) * 40
    x.view(-1)[:6] = torch.tensor([0.5, 1.5, -2.5, 1e9, -1e9, -0.0])
    each = [1 if along is None or d in along else n for d, n in enumerate(SHAPE)]
    scale = 2.0 ** torch.randint(-3, 4, each, generator=generator)
    wanted = (x / scale).round().clamp(-127, 127) * (scale if valued else 1)
    assert torch.equal(multiples(x, scale, along, 127, valued=valued), wanted)


def test_stochastic_rounding_goes_up_as_often_as_a_number_is_near() -> None:
    x = torch.linspace(-3, 3, 1 << 16).view(16, -1)
    one = torch.ones(1, 1)
    found = multiples(x, one, None, 127, stochastic=True)
    assert ((found == x.floor()) | (found == x.ceil())).all()
    whole = multiples(x.round(), one, None, 127, stochastic=True)
    assert torch.equal(whole, x.round())
    up, fraction = found - x.floor(), x - x.floor()
    for low in (0.0, 0.25, 0.5, 0.75):
        part = (fraction > low) & (fraction < low + 0.25)
        assert up[part].mean().item() == pytest.approx(low + 0.125, abs=0.02)
    assert multiples(torch.tensor([[9.9, -9.9]]), one, None, 7, stochastic=True).tolist() == [
        [7, -7]
    ]


@pytest.mark.parametrize("columns", [1, 2, 3, 10, 15, 16, 55, 64, 987, 1024, 4096])
@pytest.mark.parametrize("value", [0.3, -0.017, 0.125, -2.75])
@pytest.mark.parametrize("along", [(0,), (1,)], ids=["rows", "columns"])
def test_equal_numbers_are_right_on_average(
    along: tuple[int, ...], value: float, columns: int
) -> None:
    """In each column, as if dice had been thrown; each row is a sample of a batch."""
    samples = 1024
    x = torch.full((samples, columns), value)
    one = torch.ones((1, columns) if along == (0,) else (samples, 1))
    found = multiples(x, one, along, 127, stochastic=True)
    part = value % 1
    deviation = ((found - x).sum(0) / (samples * part * (1 - part)) ** 0.5).double()
    assert deviation.abs().max() < 5
    if columns >= 16:
        assert deviation.std() == pytest.approx(1, abs=0.5)
        assert deviation.mean().abs() < 5 / columns**0.5


def test_numbers_of_few_bits_are_right_on_average() -> None:
    """Each of BF16's fractions, at places that follow each other and at places far apart."""
    x = torch.linspace(0.5, 1, 129)[:-1].bfloat16().float()
    many, one = x.repeat(4096, 1), torch.ones(1, 1)
    for each, along in ((many, 0), (many.t().contiguous(), 1)):
        found = multiples(each, one, None, 127, stochastic=True)
        deviation = (found.mean(along) - x) / (x * (1 - x) / 4096).sqrt()
        assert deviation.abs().max() < 5


@pytest.mark.parametrize("value", [1e-10, 1e-6, 2.0**-16, 1e-4, 1 - 2.0**-16, 1 - 1e-6])
@pytest.mark.parametrize("whole", [0, 3, -4, 126])
def test_what_is_near_an_integer_errs_to_neither_side(whole: int, value: float) -> None:
    x = torch.full((64, 1 << 14), whole + value)
    part = x[0, 0].item() - whole
    found = multiples(x, torch.ones(1, 1), None, 127, stochastic=True) - whole
    spread = 5 * (part * (1 - part) / x.numel()) ** 0.5
    assert abs(found.double().mean().item() - part) < 2.0**-17 + spread
    mirrored = multiples(-x, torch.ones(1, 1), None, 127, stochastic=True) + whole
    assert abs(mirrored.double().mean().item() + part) < 2.0**-17 + spread


def test_a_number_and_its_negative_are_not_rounded_alike() -> None:
    x, one = torch.tensor([0.25, -0.25]).repeat(4096), torch.ones(1)
    found = multiples(x, one, None, 127, stochastic=True).view(-1, 2)
    both = torch.stack([found[:, 0] == 1, found[:, 1] == -1])
    assert both.float().mean(1).tolist() == pytest.approx([0.25, 0.25], abs=0.03)
    assert both.all(0).float().mean().item() == pytest.approx(1 / 16, abs=0.02)
