"""Tensors and numbers that the driver takes, and those that it refuses by name."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from golden_device import UPDATE, agree, opened
from matrices import GRANULAR

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.link.transport.golden import GoldenTransport
from adagrain.models.region_manager.table import default_parameters, region_record
from adagrain.models.statistics import statistics


@pytest.fixture
def device() -> Iterator[Coprocessor]:
    with adagrain.open_device("golden:", GRANULAR) as golden:
        yield golden


def _views() -> dict[str, torch.Tensor]:
    x = torch.randn(6, 10, generator=torch.Generator().manual_seed(3))
    complex_numbers = torch.view_as_complex(x.reshape(6, 5, 2))
    return {
        "column of one": x[:1, 0],
        "scalar": x[2, 3],
        "transposed": x.t(),
        "every other": x[::2, 1::3],
        "expanded": x[:, :1].expand(6, 7),
        "negative bit": complex_numbers.conj().imag,
        "scalar with negative bit": complex_numbers.conj()[0, 0].imag,
        "real part": complex_numbers.real,
        "bfloat16": x.bfloat16()[:1, 3],
        "float16": x.half()[1:, ::4],
        "needs a gradient": x.clone().requires_grad_()[3:4, 2],
        "parameter": torch.nn.Parameter(x)[:, 1],
        "flipped": x.flip(0)[0],
        "five dimensions": x.reshape(1, 2, 3, 2, 5).permute(4, 0, 2, 3, 1),
    }


@pytest.mark.parametrize("view", _views())
@pytest.mark.parametrize("data_port", [True, False])
def test_views_are_read_in_the_order_of_their_indices(
    view: str, data_port: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GoldenTransport, "data_port", data_port)
    x = _views()[view]
    plain = torch.tensor(x.detach().reshape(-1).tolist()).to(x.dtype)
    with adagrain.open_device("golden:", GRANULAR) as device:
        assert device.statistics(x, histogram=True) == statistics(plain, None, histogram=True)


@pytest.mark.parametrize("of", [0.0, -0.0, 1e-45, torch.nan, torch.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("data_port", [True, False])
def test_tensors_without_a_normal_number_have_the_least_exponent(
    monkeypatch: pytest.MonkeyPatch, of: float, dtype: torch.dtype, data_port: bool
) -> None:
    monkeypatch.setattr(GoldenTransport, "data_port", data_port)
    x = torch.full((3,), of).to(dtype)
    transport = GoldenTransport(GRANULAR)
    with opened(transport) as device:
        device.replaceable = True
        found = device.statistics(x)
        assert found.record() == statistics(x, None).record()
        assert device.difference(x, x).exponent == found.exponent
        assert device.url == "test:"


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1.0, 2.0], "x must be a tensor, not list"),
        (np.ones(3, np.float32), "x must be a tensor, not ndarray"),
        (None, "x must be a tensor, not NoneType"),
        (torch.ones(3).to_sparse(), r"must be dense and hold data, but it is torch\.sparse_coo"),
        (torch.ones(3, device="meta"), "must be dense and hold data, but it is meta"),
        (
            torch.nested.nested_tensor([torch.ones(3)]),
            "must be dense and hold data, but it is nested",
        ),
        (torch.ones(3, dtype=torch.complex64), r"dtype must be one of .*, not torch\.complex64"),
    ],
)
def test_what_is_no_plain_tensor_is_named(device: Coprocessor, x: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        device.statistics(x)


@pytest.mark.parametrize("exponent", [3, np.int64(3), np.uint8(3), torch.tensor(3)])
def test_exponents_may_be_any_integer(device: Coprocessor, exponent: Any) -> None:
    x = torch.randn(9, generator=torch.Generator().manual_seed(1))
    assert device.statistics(x, exponent) == statistics(x, 3)
    assert device.statistics(x, True) == statistics(x, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.statistics(torch.ones(3), 1.5), "exponent must be an integer, not 1.5"),
        (lambda d: d.statistics(torch.ones(3), "1"), "exponent must be an integer, not '1'"),
        (lambda d: d.read_table(0.0, 1), "first must be an integer, not 0.0"),
        (lambda d: d.read_regions(0, 1.0), "count must be an integer, not 1.0"),
        (lambda d: d.configure_regions([], {"workers": 1.5}), "workers must be an integer, not 1"),
        (
            lambda d: d.configure_regions([], {"workers": "x"}),
            "workers must be an integer, not 'x'",
        ),
        (lambda d: d.update_regions([{"a": 1.5}]), "a must be an integer, not 1.5"),
        (lambda d: d.update_regions([], loss=0.5), "loss must be an integer, not 0.5"),
        (lambda d: d.precisions.read(None, 1), "first must be an integer, not None"),
    ],
)
def test_no_integers(device: Coprocessor, call: Callable[[Coprocessor], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(device)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.read_table(0, 257), "regions must be from 0 to 255, not 0 to 256"),
        (lambda d: d.read_table(-1, 1), "regions must be from 0 to 255, not -1 to -1"),
        (lambda d: d.read_table(257, 0), "regions must be from 0 to 255, not 257 to 257"),
        (lambda d: d.read_regions(0, -1), "count must be 0 or more, not -1"),
        (
            lambda d: d.precisions.read(255, 2),
            "channel groups must be from 0 to 255, not 255 to 256",
        ),
        (lambda d: d.update_regions([{}]), "must be configured before they are updated"),
        (lambda d: d.update_regions([]), "must be configured before they are updated"),
        (lambda d: d.update_regions([{"region": 256}]), "region must be from 0 to 255, not 256"),
        (
            lambda d: d.configure_regions([], default_parameters(1) | {"workers": 1025}),
            "workers must be from 1 to 1024, not 1025",
        ),
        (
            lambda d: d.configure_regions([], default_parameters(1) | {"t0": 65536}),
            "t0 must be from 0 to 65535, not 65536",
        ),
        (
            lambda d: d.configure_regions([region_record()], default_parameters(1), first=5),
            "first must be at most 0, the first region that was not configured yet, not 5",
        ),
        (lambda d: d.configure_regions([], {}), "workers must be from 1 to 1024, not 0"),
        (
            lambda d: d.precisions.decide([{}]),
            "channel group must be one that was configured, but none was",
        ),
    ],
)
def test_out_of_range(
    device: Coprocessor, call: Callable[[Coprocessor], Any], message: str
) -> None:
    """The call is refused, leaves nothing behind, and the next one works."""
    with pytest.raises(ValueError, match=message):
        call(device)
    assert device.state_dict()["table"] == b""
    device.configure_regions([region_record()], default_parameters(2))
    with pytest.raises(ValueError, match="region must be one that was configured, 0 to 0, not 1"):
        device.update_regions([{"region": 1}])
    device.update_regions([UPDATE])
    assert device.counters()["sessions"] == 1
    agree(device)
