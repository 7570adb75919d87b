"""Regions: how a model is divided."""

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from adagrain.host.granular import Policy, convert
from adagrain.host.regions.regions import ParameterSlice, Region, Regions, regions

TYPES = (torch.float32, torch.bfloat16)


def model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 3, bias=False))


def test_by_module() -> None:
    divided = regions(model())
    assert divided.names == ["0", "2"]
    assert [region.numel for region in divided] == [70, 30]


def test_by_tensor() -> None:
    assert regions(model(), "tensor").names == ["0.weight", "0.bias", "2.weight"]


def test_by_rows_leaves_small_tensors_whole() -> None:
    divided = regions(model(), "rows:4")
    assert divided.names == [
        "0.weight[0:2]",
        "0.weight[2:5]",
        "0.weight[5:7]",
        "0.weight[7:10]",
        "0.bias",
        "2.weight",
    ]
    assert sum(region.numel for region in divided) == 100


def test_by_callable() -> None:
    divided = regions(model(), lambda name, p: "matrices" if p.dim() > 1 else "vectors")
    assert divided.names == ["matrices", "vectors"]


def test_tied_parameters_count_once_and_frozen_ones_not() -> None:
    network = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4))
    network[1].weight = network[0].weight
    network[2].requires_grad_(False)
    assert regions(network, "tensor").names == ["0.weight", "0.bias", "1.bias"]


def test_parameters_without_elements_are_in_no_region() -> None:
    model = nn.Module()
    model.register_parameter("empty", nn.Parameter(torch.zeros(0)))
    model.full = nn.Linear(2, 2)
    assert regions(model).names == ["full"]


def test_compiled_and_wrapped_models_keep_their_names() -> None:
    inside = model()
    wrapper = DistributedDataParallel.__new__(DistributedDataParallel)  # needs no process group
    nn.Module.__init__(wrapper)
    wrapper.module = torch.compile(inside)
    for own in (torch.compile(inside), wrapper, torch.compile(wrapper)):
        assert regions(own).names == ["0", "2"]


@pytest.mark.parametrize("by", ["layer", "rows", "rows:0", "rows:x", "rows:²", ""])
def test_unknown_division(by: str) -> None:
    with pytest.raises(ValueError, match=f"by must be 'module', .* not {by!r}"):
        regions(model(), by)


def test_nothing_to_train() -> None:
    with pytest.raises(ValueError, match="at least one trainable parameter"):
        regions(model().requires_grad_(False))


@pytest.mark.parametrize("by", ["module", "tensor", "rows:2", lambda name, p: name])
def test_thresholds_between_precisions_are_in_no_region(by: str) -> None:
    granular = convert(model(), Policy())
    assert any("controllers" in name for name, _ in granular.named_parameters())
    assert regions(granular, by).names == regions(model(), by).names


def test_a_region_has_one_type() -> None:
    network = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)).bfloat16()
    network[0].bias.data = network[0].bias.data.float()
    with pytest.raises(
        ValueError,
        match=r"region '0' must have parameters of one type and place, not torch.bfloat16 on cpu "
        r"\('0.weight'\) and torch.float32 on cpu \('0.bias'\); divide the model by='tensor'",
    ):
        regions(network)
    assert len(regions(network, "tensor")) == 4


def test_regions_differ_by_name_and_have_parameters() -> None:
    first, second = regions(model())
    with pytest.raises(ValueError, match="regions must differ by name, but two are '0'"):
        Regions([first, second, Region("0", second.slices)])
    with pytest.raises(ValueError, match="region 'empty' must have at least one parameter"):
        Regions([first, Region("empty", ())])
    parts = [ParameterSlice(str(kind), nn.Parameter(torch.ones(2, dtype=kind))) for kind in TYPES]
    with pytest.raises(ValueError, match="region 'both' must have parameters of one type"):
        Regions([Region("both", tuple(parts))])
