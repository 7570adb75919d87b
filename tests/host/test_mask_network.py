"""The mask generation network on a device: the golden keep-tables, bit for bit."""

from typing import Any

import numpy as np
import pytest
import torch
from matrices import GRANULAR

import adagrain
from adagrain.host.device.chain import Layer
from adagrain.models.mask_network import FEATURE_SCALE, MaskLayers, keep_tables
from adagrain.models.mask_network.layers import LAYER_SCALE, with_one
from adagrain.sim.simulators import runner


@pytest.mark.parametrize(
    "url",
    [
        "golden:",
        pytest.param(
            "sim:",
            marks=pytest.mark.skipif(
                bool(runner.missing("verilator")), reason=str(runner.missing("verilator"))
            ),
        ),
    ],
)
def test_a_device_finds_the_golden_keep_tables(url: str, seed: int) -> None:
    draw = np.random.default_rng(seed)
    shapes = (10, 4), (5, 4), (5, 64)
    layers = MaskLayers.of(tuple(draw.normal(size=s).astype(np.float32) for s in shapes))
    seen = draw.integers(-127, 128, (9, 9)).astype(np.int8)
    given: list[Any] = [Layer(b, "INT8", own, LAYER_SCALE) for b, own in layers.matrices()]
    wanted = keep_tables(layers, seen)
    with adagrain.open_device(url, GRANULAR) as device:
        x = torch.from_numpy(with_one(seen))
        found = device.chain(x, given, "INT8", FEATURE_SCALE).values
        scale = FEATURE_SCALE
        for own in given:
            x = device.matmul(x, own.b, "INT8", (scale, own.scale), to="INT8", to_scale=LAYER_SCALE)
            x, scale = x.values, LAYER_SCALE
    assert torch.equal(found, x)
    assert (found.numpy() > 0).tolist() == wanted.tolist()
    assert wanted.any() and not wanted.all()
