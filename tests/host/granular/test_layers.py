"""Granular layers against plain ones, and against the golden products."""

import copy
import math
import pickle

import pytest
import torch
from granular_networks import network
from torch import nn

from adagrain.host.granular import Granularity, GranularLinear, Policy, convert
from adagrain.models.interface.precision import Precision
from adagrain.models.interface.records import unpack
from adagrain.models.interface.units.precision_controller import PrecisionRecord
from adagrain.models.numerics.quantisation import product, rounded
from adagrain.models.numerics.stochastic_rounding import stochastically_rounded


def seeded(seed: int = 0) -> None:
    torch.manual_seed(seed)


def fixed(precision: str, **changes: object) -> Policy:
    return Policy(fixed=precision, **changes)


@pytest.mark.parametrize("precision", list(Precision.__members__))
@pytest.mark.parametrize("shape", [(12,), (3, 12), (2, 3, 12)], ids=str)
def test_linear_computes_the_golden_product(precision: str, shape: tuple[int, ...]) -> None:
    seeded()
    plain = nn.Linear(12, 8)
    layer, x = convert(plain, fixed(precision)), torch.randn(shape)
    wanted = product(x.reshape(-1, 12), plain.weight, Precision[precision]) + plain.bias
    assert torch.equal(layer(x), wanted.view(*shape[:-1], 8))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stride": 2, "padding": 1},
        {"dilation": 2, "padding": (2, 1), "bias": False},
        {"stride": (1, 3), "padding": 3},
    ],
    ids=str,
)
def test_convolution_is_torch_s_in_fp32(options: dict[str, object]) -> None:
    seeded()
    plain = nn.Conv2d(3, 6, (3, 2), **options)
    x = torch.randn(2, 3, 11, 9, requires_grad=True)
    wanted = plain(x)
    seed = torch.randn_like(wanted)
    wanted_gradients = torch.autograd.grad(wanted, [x, plain.weight], seed)
    layer = convert(plain, fixed("FP32"))
    found = layer(x)
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(
        torch.autograd.grad(found, [x, layer.weight], seed), wanted_gradients
    )


@pytest.mark.parametrize("precision", ["FP16", "INT8", "INT4"])
def test_convolution_computes_the_golden_product_of_patches(precision: str) -> None:
    seeded()
    plain, x = nn.Conv2d(2, 4, 3, bias=False), torch.randn(3, 2, 6, 5)
    patches = nn.functional.unfold(x, 3).transpose(1, 2).reshape(-1, 18)
    rows = product(patches, plain.weight.flatten(1), Precision[precision])
    wanted = rows.view(3, 12, 4).transpose(1, 2).reshape(3, 4, 4, 3)
    assert torch.equal(convert(plain, fixed(precision))(x), wanted)


def test_gradients_in_fp32_are_torch_s() -> None:
    plain, x, seed = network(), torch.randn(7, 12), torch.randn(7, 5)
    plain(x).backward(seed)
    wanted = [p.grad for p in plain.parameters()]
    model = convert(network(), fixed("FP32"))
    model(x).backward(seed)
    found = [p.grad for name, p in model.named_parameters() if "thresholds" not in name]
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize(
    ("plain", "shape"),
    [(nn.Linear(64, 32), (128, 64)), (nn.Conv2d(4, 32, 3, stride=2, padding=1), (16, 4, 9, 7))],
    ids=["linear", "conv"],
)
@pytest.mark.parametrize(("precision", "most"), [("FP16", 2e-3), ("INT8", 0.03), ("INT4", 0.4)])
def test_gradients_go_straight_through(
    precision: str, most: float, plain: nn.Module, shape: tuple[int, ...]
) -> None:
    """Near to those in FP32 of the same layer, the nearer the more bits there are."""
    seeded()
    x = torch.randn(shape, requires_grad=True)
    seed = torch.randn_like(plain(x)) * 1e-4
    wanted = torch.autograd.grad(plain(x), [x, plain.weight, plain.bias], seed)
    layer = convert(plain, fixed(precision, gradients="INT4"))
    found = torch.autograd.grad(layer(x), [x, layer.weight, layer.bias], seed)
    for one, other in zip(found, wanted, strict=True):
        assert (one - other).norm() < most * other.norm()


@pytest.mark.parametrize("changes", [{"fixed": "INT8"}, {"fixed": "INT4", "gradients": "FP16"}])
def test_gradients_of_images_are_of_operands_as_they_are_rounded(changes: dict[str, str]) -> None:
    """An image has one scale, a place's gradient one, an output's one, a kernel's weight one."""
    seeded()
    plain = nn.Conv2d(3, 6, 3, padding=1, bias=False)
    x, seed = torch.randn(4, 3, 7, 5, requires_grad=True), torch.randn(4, 6, 7, 5)
    found = torch.autograd.grad(convert(plain, Policy(**changes))(x), [x, plain.weight], seed)
    precision = Precision[changes.get("gradients", "INT8")]
    if precision.integer:
        by_place, by_output = (
            stochastically_rounded(seed, precision, along=along) for along in ((1,), (0, 2, 3))
        )
    else:
        by_place = by_output = seed.half().float()
    weight = rounded(plain.weight.detach(), precision, along=(0,))
    image = rounded(x.detach(), precision)
    to_x = nn.functional.conv_transpose2d(by_place, weight, padding=1)
    to_weight = nn.functional.conv2d(image.transpose(0, 1), by_output.transpose(0, 1), padding=1)
    torch.testing.assert_close(found, (to_x, to_weight.transpose(0, 1)))


@pytest.mark.parametrize(("precision", "most"), [("INT8", 0.01), ("INT4", 0.4)])
def test_a_head_of_zeros_learns_as_in_fp32(precision: str, most: float) -> None:
    """Its first gradients are two numbers, 1/n - 1 and 1/n: each is right on average."""
    seeded()
    plain = nn.Linear(16, 10, bias=False)
    nn.init.zeros_(plain.weight)
    x = torch.randn(4096, 16).abs()
    labels = x[:, :10].argmax(1)
    wanted, found = (
        torch.autograd.grad(nn.functional.cross_entropy(layer(x), labels), layer.weight)[0]
        for layer in (plain, convert(copy.deepcopy(plain), fixed(precision, gradients=precision)))
    )
    assert (found - wanted).norm() < most * wanted.norm()


def test_gradients_are_of_at_least_the_precision_asked_for() -> None:
    layer = convert(nn.Linear(4, 3), fixed("INT4", gradients="FP16"))
    layer(torch.randn(5, 4, requires_grad=True)).sum().backward()
    assert layer.work() == {
        Precision.FP32: 0,
        Precision.FP16: 2 * 5 * 4 * 3,
        Precision.INT8: 0,
        Precision.INT4: 5 * 4 * 3,
    }
    assert not any(layer.work().values())
    layer.eval()(torch.randn(5, 4))
    assert not any(layer.work().values())


def test_units_compute_each_in_its_own_precision() -> None:
    seeded()
    plain, x = nn.Linear(16, 10), torch.randn(6, 16)
    layer = convert(plain, Policy(channel_groups=3))
    assert isinstance(layer, GranularLinear)
    precisions = [Precision.FP16, Precision.INT4, Precision.INT4]
    layer.controllers.precisions = precisions
    layer.looking = False
    weight = plain.weight
    wanted = torch.cat(
        [product(x, weight[:3], Precision.FP16), product(x, weight[3:], Precision.INT4)], dim=1
    )
    assert torch.equal(layer(x), wanted + plain.bias)
    assert layer.macs() == [6 * 16 * n for n in (3, 3, 4)]


def test_inputs_that_integers_cannot_stand_for_are_named() -> None:
    model, x = convert(network(), fixed("INT8")), torch.randn(3, 12)
    x[0, 0] = torch.inf
    with pytest.raises(
        ValueError, match=r"layer one: x must be finite and below .* for INT8: 1 of"
    ):
        model(x)
    assert convert(network(), fixed("FP32"))(x).isnan().any()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fixed": "INT9"}, "fixed must be one of FP32, FP16, INT8, INT4, not 'INT9'"),
        ({"every": 0}, "every must be at least 1, not 0"),
        ({"channel_groups": 0}, "channel_groups must be at least 1, not 0"),
        ({"dwell": 256}, "dwell must be from 0 to 255, not 256"),
        ({"penalty": -1.0}, "penalty must be finite and not negative, not -1"),
        ({"penalty": math.inf}, "penalty must be finite and not negative, not inf"),
        ({"softness": 0.0}, "softness must be finite and positive, not 0"),
        ({"softness": math.inf}, "softness must be finite and positive, not inf"),
        ({"thresholds": (0.1, 0.2)}, "thresholds must be 3, not 2"),
        ({"thresholds": (0.0, 0.1, 0.2)}, "thresholds must be above 0, not 0"),
        ({"thresholds": (0.3, 0.1, 0.2)}, "thresholds must not fall"),
        ({"hysteresis": 2.0}, "hysteresis must be from 0 to 1, not 2"),
        ({"floor": "FP16", "ceiling": "INT8"}, "floor must not be above the ceiling INT8, as FP16"),
        ({"fixed": "INT4", "floor": "INT8"}, "from the floor INT8 to the ceiling FP32, not INT4"),
        ({"fixed": "FP16", "ceiling": "INT8"}, "the floor INT4 to the ceiling INT8, not FP16"),
    ],
)
def test_policies_that_make_no_sense(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Policy(**changes)


@pytest.mark.parametrize(
    ("layer", "x", "error", "message"),
    [
        (nn.Linear(12, 8), torch.ones(2, 24), ValueError, "must have 12 features, not 24"),
        (nn.Linear(4, 8), torch.ones(2, 4).half(), TypeError, "torch.float32, not torch.float16"),
        (nn.Conv2d(2, 4, 3), torch.ones(2, 4, 9, 9), ValueError, "must have 2 features, not 4"),
        (nn.Conv2d(2, 4, 3), torch.ones(2, 9, 9), ValueError, "must have 4 dimensions, not 3"),
    ],
)
def test_inputs_that_do_not_fit(
    layer: nn.Module, x: torch.Tensor, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"input of layer .*{message}"):
        convert(layer)(x)


@pytest.mark.parametrize("precision", list(Precision.__members__))
def test_no_samples_are_no_trouble(precision: str) -> None:
    assert convert(network(), fixed(precision))(torch.ones(0, 12)).shape == (0, 5)
    layer = convert(nn.Conv2d(2, 4, 3, stride=2), fixed(precision))
    assert layer(torch.ones(0, 2, 9, 8)).shape == (0, 4, 4, 3)


def test_images_smaller_than_the_kernel_are_refused() -> None:
    layer = convert(nn.Conv2d(2, 4, (3, 5)), fixed("INT8"))
    with pytest.raises(
        ValueError, match=r"images must be large enough for the kernel \(3, 5\), not of \(9, 4\)"
    ):
        layer(torch.ones(2, 2, 9, 4))
    assert layer.macs() == [0]


def test_layers_without_inputs_are_refused() -> None:
    with pytest.warns(UserWarning, match="zero-element"):
        plain = nn.Linear(0, 5)
    with pytest.raises(ValueError, match="Linear must have at least 1 input, not 0"):
        convert(plain)


def test_images_lie_in_memory_as_torch_has_them() -> None:
    plain, x = nn.Conv2d(2, 4, 3), torch.randn(3, 2, 6, 5)
    assert convert(plain)(x).stride() == plain(x).stride()
    assert convert(plain)(x).view(3, -1).shape == (3, 48)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_weights_of_another_type_are_refused(dtype: torch.dtype) -> None:
    model = convert(network(), fixed("FP16")).to(dtype)
    with pytest.raises(
        TypeError, match=f"weight of layer one must be of torch.float32, not {dtype}"
    ):
        model(torch.randn(3, 12))


@pytest.mark.parametrize("what", ["gradient", "weight"])
def test_errors_of_the_backward_pass_name_the_layer(what: str) -> None:
    model = convert(network(), fixed("INT8"))
    y = model(torch.randn(3, 12))
    if what == "weight":
        model.two.weight.data[0, 0] = torch.nan
    with pytest.raises(ValueError, match=f"layer two: {what} must be finite and below .* for INT8"):
        y.backward(torch.full_like(y, torch.nan if what == "gradient" else 1.0))


@pytest.mark.parametrize("times", [1e-15, 1.0, 1e5, 1e15])
def test_gradients_in_fp16_are_brought_into_its_range(times: float) -> None:
    seeded()
    x, seed = torch.randn(64, 16) * times, torch.randn(64, 8)
    layer = convert(nn.Linear(16, 8), fixed("INT8", gradients="FP16"))
    (found,) = torch.autograd.grad(layer(x), [layer.weight], seed)
    wanted = seed.t() @ x
    assert (found - wanted).norm() < 1e-3 * wanted.norm()


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        ({"floor": "FP16"}, "FP16"),
        ({"ceiling": "INT4"}, "INT4"),
        ({"start": "FP32", "ceiling": "FP16"}, "FP16"),
        ({"fixed": "FP32"}, "FP32"),
    ],
)
def test_bounds_hold_from_the_start(changes: dict[str, str], first: str) -> None:
    layer = convert(nn.Linear(4, 3), Policy(**changes))
    assert layer.controllers.precisions == [Precision[first]]


def test_states_are_taken_as_far_as_the_policy_allows() -> None:
    state = convert(network(), Policy(start="FP16", dwell=9, hysteresis=0.1)).state_dict()
    for changes, wanted in (({"fixed": "INT4"}, "INT4"), ({"ceiling": "INT8"}, "INT8")):
        model = convert(network(), Policy(dwell=2, hysteresis=0.0, **changes))
        model.load_state_dict(state)
        assert model.one.controllers.precisions == [Precision[wanted]]
        (raw,) = model.one.controllers.asked_records([model.one.policy.bounds])
        record = unpack(PrecisionRecord, raw)
        assert (record["dwell_length"], record["hysteresis"]) == (2, 0)


def test_copies_are_tied_to_no_device() -> None:
    model, x = convert(network(), Policy(channel_groups=2)), torch.randn(4, 12)
    with Granularity(model, offload=1) as granularity:
        granularity.live = True
        copied = copy.deepcopy(model)
        loaded = pickle.loads(pickle.dumps(model))
        wanted = model(x)
        made = granularity.offloaded.products
        assert torch.equal(copied(x), wanted)
        assert torch.equal(loaded(x), wanted)
        assert granularity.offloaded.products == made == 2


def test_compiled_models_compute_the_same() -> None:
    x = torch.randn(4, 12)
    wanted = convert(network(), fixed("INT8"))(x)
    model = torch.compile(convert(network(), fixed("INT8")), backend="eager")
    found = model(x)
    assert torch.equal(found, wanted)
    found.sum().backward()
    assert model.one.weight.grad is not None
