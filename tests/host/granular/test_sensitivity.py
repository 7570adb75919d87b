"""The loss that rounding costs, against errors that are computed in full."""

import pytest
import torch
from granular_networks import network
from torch import nn

from adagrain.host.granular import Granularity, Policy, convert
from adagrain.host.granular.sensitivity import with_sensitivities
from adagrain.models.interface.precision import Precision
from adagrain.models.numerics.quantisation import rounded

#: By rank.
ROUNDING = (Precision.INT4, Precision.INT8, Precision.FP16)


def plain(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The layer's product."""
    images = x.dim() == 4
    return nn.functional.conv2d(x, weight) if images else nn.functional.linear(x, weight)


def costs(
    x: torch.Tensor,
    weight: torch.Tensor,
    gradient: torch.Tensor,
    sizes: tuple[int, ...],
    samples: int,
) -> torch.Tensor:
    """Of each channel group, by rank, as they are learned."""
    shares = torch.full((len(sizes), 4), 0.25, requires_grad=True)
    y = plain(x, weight).clone()
    y = with_sensitivities(y, shares, x, weight, sizes=sizes, samples=samples)
    y.backward(gradient)
    return shares.grad


def costs_in_full(
    x: torch.Tensor, weight: torch.Tensor, gradient: torch.Tensor, samples: int
) -> list[float]:
    """Half the mean over samples of the square of gradient times error, by rank."""
    found = []
    for precision in ROUNDING:
        a = rounded(x, precision).double()
        b = rounded(weight, precision, along=tuple(range(1, weight.dim()))).double()
        worse = (plain(a, b) - plain(x.double(), weight.double())) * gradient
        of_samples = samples * worse.reshape(samples, -1).sum(dim=1)
        found.append(of_samples.square().mean().item() / 2)
    return found


@pytest.mark.parametrize("places", [1, 6], ids=["rows", "words"])
def test_costs_are_those_of_errors_without_direction(places: int) -> None:
    generator = torch.Generator().manual_seed(places)
    rows = torch.randn(3072, 64, generator=generator) * torch.rand(64, generator=generator)
    weight = torch.randn(48, 64, generator=generator) / 8
    samples = len(rows) // places
    gradient = torch.randn(len(rows), 48, generator=generator) / samples
    found = costs(rows, weight, gradient, (32, 16), samples)
    for channel_group, part in enumerate((slice(0, 32), slice(32, 48))):
        wanted = costs_in_full(rows, weight[part], gradient[:, part], samples)
        assert found[channel_group, :3].tolist() == pytest.approx(wanted, rel=0.2)
        assert found[channel_group, 3] == 0


def test_costs_of_images_are_those_of_errors_without_direction() -> None:
    generator = torch.Generator().manual_seed(0)
    channels = torch.rand(8, 1, 1, generator=generator)
    x = torch.randn(512, 8, 7, 6, generator=generator) * channels
    weight = torch.randn(6, 8, 3, 3, generator=generator) / 8
    gradient = torch.randn(512, 6, 5, 4, generator=generator) / len(x)
    found = costs(x, weight, gradient, (4, 2), len(x))
    for channel_group, part in enumerate((slice(0, 4), slice(4, 6))):
        wanted = costs_in_full(x, weight[part], gradient[:, part], len(x))
        assert found[channel_group, :3].tolist() == pytest.approx(wanted, rel=0.2)


def test_scales_of_operands_and_gradients_change_no_cost() -> None:
    torch.manual_seed(0)
    rows, weight, gradient = torch.randn(16, 12), torch.randn(8, 12), torch.randn(16, 8)
    wanted = costs(rows, weight, gradient, (8,), 16)[:, :2]  # FP16 has no scale
    for up, down in ((40, -40), (3, 7), (-50, 0)):
        operands = rows * 2.0**up, weight * 2.0**down, gradient * 2.0 ** -(up + down)
        assert torch.equal(costs(*operands, (8,), 16)[:, :2], wanted)


@pytest.mark.parametrize("times", [1e5, 3e4, 2.0**61, 1e37])
def test_what_a_precision_is_too_small_for_costs_the_whole_product(times: float) -> None:
    """Operands or outputs that FP16, and beyond 2**60 integers, cannot stand for."""
    torch.manual_seed(0)
    rows, weight, gradient = torch.randn(16, 12), torch.randn(8, 12), torch.randn(16, 8)
    int4, int8, fp16, fp32 = costs(rows * times, weight, gradient / times, (8,), 16)[0].tolist()
    assert fp16 > 5 * int4 or times > 1e6
    assert (int4 == int8 == fp16) is (times > 1e6)
    assert 0 < int8 <= int4 and fp16 < float("inf") and fp32 == 0


@pytest.mark.parametrize("layer", [nn.Linear(12, 8), nn.Conv2d(2, 8, 3)], ids=["linear", "conv"])
def test_layers_give_the_soft_choice_its_costs(layer: nn.Module) -> None:
    """A look stands for all steps up to the next, and rows of an image for one sample."""
    torch.manual_seed(0)
    policy = Policy(thresholds=(0.03, 0.06, 0.12), every=2, channel_groups=2, gradients="FP32")
    model = convert(nn.Sequential(layer), policy)
    with Granularity(model):
        controllers = model[0].controllers
        x = torch.randn(16, 12) if isinstance(layer, nn.Linear) else torch.randn(4, 2, 5, 6)
        y = model(x)
        seed = torch.randn_like(y)
        (y * seed).sum().backward()
        found, controllers.thresholds.grad = controllers.thresholds.grad.clone(), None
        wanted = costs(x, model[0].weight.detach(), seed, (4, 4), len(x))
        (controllers.weights() * wanted * 2).sum().backward()
        torch.testing.assert_close(found, controllers.thresholds.grad)
        assert found.count_nonzero() == 6


def test_threshold_gradients_leave_in_place_operations_as_they_are() -> None:
    layers = nn.Linear(4, 3, bias=False), nn.ReLU(inplace=True)
    model = convert(nn.Sequential(*layers), Policy(every=1))
    with Granularity(model):
        model(torch.randn(5, 4)).sum().backward()
        assert model[0].controllers.thresholds.grad.count_nonzero()


def test_each_pass_of_a_step_gives_gradients_and_the_first_is_measured() -> None:
    def gradient_of(*inputs: torch.Tensor) -> tuple[torch.Tensor, float]:
        model = convert(network(), Policy(every=1, skip=("two",)))
        with Granularity(model):
            for x in inputs:
                model(x).sum().backward()
            return model.one.controllers.thresholds.grad, model.one.controllers.normalised_variance

    torch.manual_seed(0)
    x, other = torch.randn(8, 12), torch.randn(8, 12) ** 3
    once, normalised = gradient_of(x)
    twice, first = gradient_of(x, other)
    assert first == normalised
    assert (twice.abs() > once.abs()).all()


def test_thresholds_of_a_loss_that_is_not_finite_are_named() -> None:
    model = convert(network(), Policy(every=1))
    with Granularity(model) as granularity:
        model(torch.randn(4, 12))
        with torch.no_grad():
            model.two.controllers.thresholds[0, 1] = torch.nan
        with pytest.raises(
            ValueError, match=r"layer two: thresholds must be finite, not \[\[.*nan"
        ):
            granularity.step()


def test_thresholds_that_passed_one_come_back() -> None:
    model = convert(network(), Policy(every=1, penalty=1.0))
    with Granularity(model) as granularity:
        thresholds = model.one.controllers.thresholds
        with torch.no_grad():
            thresholds.fill_(0.3)
        model(torch.randn(4, 12))
        granularity.step()
        assert (thresholds == 0).all()
        (model(torch.randn(4, 12)).sum() + granularity.penalty()).backward()
        assert thresholds.grad.count_nonzero()
