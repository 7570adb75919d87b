"""Models that are converted, what becomes of their layers, and models that are refused."""

import copy

import pytest
import torch
from granular_networks import network
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import parametrizations, prune, spectral_norm

from adagrain.host.granular import Granularity, GranularLinear, Policy, convert
from adagrain.models.interface.precision import Precision


def test_convert_keeps_parameters_and_shared_layers() -> None:
    shared = nn.Linear(6, 6)
    model = nn.ModuleDict({"a": shared, "b": nn.Sequential(shared, nn.ReLU(), shared)})
    before = dict(model.named_parameters())
    convert(model)
    assert model["a"] is model["b"][0] is model["b"][2]
    assert isinstance(model["a"], GranularLinear)
    after = dict(model.named_parameters())
    assert all(after[name] is parameter for name, parameter in before.items())
    assert set(after) - set(before) == {"a.controllers.thresholds"}


def test_convert_leaves_out_what_it_is_told_to() -> None:
    model = convert(network(), Policy(skip=("one",)), {"two": Policy(fixed="FP16")})
    assert type(model.one) is nn.Linear
    assert model.two.policy.fixed is Precision.FP16


class Mine(nn.Linear):
    pass


def hooked() -> nn.Module:
    layer = nn.Linear(4, 3)
    layer.register_forward_hook(lambda *_: None)
    return layer


@pytest.mark.parametrize(
    ("model", "policy", "error", "message"),
    [
        (nn.ReLU(), Policy(), ValueError, "must have nn.Linear or nn.Conv2d layers to convert"),
        (nn.Sequential(Mine(2, 2)), Policy(), ValueError, "layers to convert, and has none"),
        (
            network(),
            Policy(skip=("three",)),
            ValueError,
            "skip must name layers .one, two., not 'three'",
        ),
        (
            network(),
            Policy(channel_groups=6),
            ValueError,
            "channel_groups must be at most 5, the outputs of two, not 6",
        ),
        (
            nn.Linear(16385, 2),
            Policy(),
            ValueError,
            "Linear must have at most 16384 inputs for FP16, not 16385",
        ),
        (
            nn.Linear(133_145, 2),
            Policy(ceiling="INT8"),
            ValueError,
            "Linear must have at most 133144 inputs for INT8, not 133145",
        ),
        (
            nn.Conv2d(4, 4, 3, groups=2),
            Policy(),
            ValueError,
            "Conv2d must have 1 group, not 2; skip it",
        ),
        (
            nn.Conv2d(4, 4, 3, padding="same"),
            Policy(),
            ValueError,
            "padded with a number of zeros, not 'same'",
        ),
        (
            nn.Conv2d(4, 4, 3, padding_mode="reflect"),
            Policy(),
            ValueError,
            "number of zeros, not 'reflect'",
        ),
        (
            nn.Sequential(nn.Linear(2, 2).half()),
            Policy(),
            ValueError,
            "0.weight must be of torch.float32, not torch.float16",
        ),
        (convert(network()), Policy(), TypeError, "must not be converted twice .one."),
        (
            nn.Sequential(torch.compile(network())),
            Policy(),
            TypeError,
            "before torch.compile .0.",
        ),
        (nn.DataParallel(network()), Policy(), TypeError, "it is wrapped in DataParallel"),
        (
            spectral_norm(nn.Linear(4, 3)),
            Policy(),
            ValueError,
            "weight of Linear must be a parameter, not computed from others; skip it",
        ),
        (
            nn.Sequential(prune.l1_unstructured(nn.Linear(4, 3), "weight", 0.5)),
            Policy(),
            ValueError,
            "weight of 0 must be a parameter",
        ),
        (
            hooked(),
            Policy(),
            ValueError,
            "Linear must have no hooks yet, not forward_hooks; skip it",
        ),
        (
            nn.Sequential(nn.Linear(3, 2), nn.LazyLinear(4)),
            Policy(),
            TypeError,
            "must have been used once, so that LazyLinear .1. has a shape",
        ),
        (
            nn.Linear(3, 2, device="meta"),
            Policy(),
            ValueError,
            "weight must have values, and is on the meta device",
        ),
        (torch.compile(network()), Policy(), TypeError, "must be converted before torch.compile"),
    ],
)
def test_models_that_cannot_be_converted(
    model: nn.Module, policy: Policy, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        convert(model, policy)


def test_overrides_must_name_layers() -> None:
    with pytest.raises(ValueError, match=r"overrides must name layers .one, two., not 'three'"):
        convert(network(), overrides={"three": Policy()})


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"one": Policy()}, "'one' must be in skip or in overrides, not in both"),
        (
            {"two": Policy(skip=("one",))},
            "skip must be of the model's policy, not of that of 'two'",
        ),
    ],
)
def test_skip_and_overrides_must_not_contradict(overrides: dict[str, Policy], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        convert(network(), Policy(skip=("one",)), overrides)


@pytest.mark.usefixtures("lone_worker")
@pytest.mark.parametrize("wrap", [lambda m: m, nn.Sequential], ids=["whole", "within"])
def test_models_in_ddp_are_refused(wrap: object) -> None:
    with pytest.raises(TypeError, match="before it is wrapped in DistributedDataParallel"):
        convert(wrap(DistributedDataParallel(network())))


def test_parametrized_layers_are_left_alone() -> None:
    model = nn.Sequential(parametrizations.weight_norm(nn.Linear(4, 3)), nn.Linear(3, 2))
    convert(model)
    assert isinstance(model[0], nn.Linear) and isinstance(model[1], GranularLinear)


def test_only_precisions_that_may_be_chosen_limit_the_inputs() -> None:
    assert isinstance(convert(nn.Linear(20_000, 2), Policy(ceiling="INT8")), GranularLinear)


def test_units_of_equal_blocks_are_named_by_where_they_are() -> None:
    block = convert(nn.Sequential(nn.Linear(4, 4)))
    model = nn.ModuleDict({"a": block, "b": copy.deepcopy(block), "c": convert(nn.Linear(4, 4))})
    with Granularity(model) as granularity:
        assert list(granularity.precisions()) == ["a.0", "b.0", "c"]


def test_weights_that_are_not_finite_are_named() -> None:
    model = network()
    with torch.no_grad():
        model.two.weight[1, 2] = torch.nan
    with pytest.raises(ValueError, match=r"two\.weight must be finite: 1 of 40 elements are not"):
        convert(model)
