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
