"""One device decides what is sent, masks and codes it, and takes it apart, as the golden path does.

It measures what the mask generation network sees in a pass, computes the network's keep-tables, and
its encoder masks by them in the next pass.
"""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from matrices import GRANULAR

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.models.codec import decode, encode
from adagrain.models.interface.configuration import Configuration, configuration
from adagrain.models.mask import KeepTable, masked
from adagrain.models.mask_network import (
    MaskLayers,
    activation_features,
    at_bound,
    features,
    gradient_feature,
    keep_tables,
)
from adagrain.models.statistics import Statistics, statistics
from adagrain.sim.simulators import runner

WHOLE = configuration("whole")
IS_MISSING = pytest.mark.skipif(
    bool(runner.missing("verilator")), reason=str(runner.missing("verilator"))
)

Measure = Callable[[torch.Tensor], Statistics]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("golden:", WHOLE), id="golden"),
        pytest.param(("sim:", GRANULAR), id="sim", marks=IS_MISSING),
        pytest.param(("sim:", WHOLE), id="sim whole", marks=[IS_MISSING, pytest.mark.full]),
    ],
)
def device(request: pytest.FixtureRequest) -> Iterator[Coprocessor]:
    with adagrain.open_device(*request.param) as opened:
        yield opened


def network(seed: int, built: Configuration) -> MaskLayers:
    """As large as training has it, where the operand memories have room for that."""
    hidden = 31 if built.operands >= 1024 else 4
    draw = np.random.default_rng(seed)
    shapes = (10, hidden), (hidden + 1, hidden), (hidden + 1, 64)
    return MaskLayers.of(tuple(draw.normal(size=s).astype(np.float32) for s in shapes))


def step(seed: int) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Activations and gradients of three regions: of several blocks, of one, of few elements."""
    draw = torch.Generator().manual_seed(seed)
    sizes, scales = (9000, 700, 5), (1.0, 1e-3, 30.0)
    gradients = [
        (scale * torch.randn(count, generator=draw).pow(3)).bfloat16()
        for count, scale in zip(sizes, scales, strict=True)
    ]
    return [torch.randn(40, 8, generator=draw) + mean for mean in (-1, 0, 3)], gradients


def seen(
    measure: Measure, activations: list[torch.Tensor], gradients: list[torch.Tensor]
) -> tuple[np.ndarray, list[int]]:
    """What the network sees of each region, and the exponents of their largest elements."""
    found = [measure(x) for x in gradients]
    sizes = tuple(x.numel() for x in gradients)
    rows = [
        (*activation_features(measure(a)), gradient_feature(own, count))
        for a, own, count in zip(activations, found, sizes, strict=True)
    ]
    exponents = [own.exponent for own in found]
    known = features(np.array(rows), 7, sizes, np.array(exponents))
    return at_bound(known, 2.0**-9), exponents


def test_frames_are_those_of_the_golden_path(device: Coprocessor, seed: int) -> None:
    layers, last = network(seed, device.configuration), step(seed)
    gradients = [4 * x for x in step(seed + 1)[1]]
    sees, exponents = seen(lambda x: statistics(x, None), *last)
    tables = keep_tables(layers, sees).astype(int).tolist()
    rows = zip(gradients, exponents, tables, strict=True)
    kept = [masked(x, exponent, table) for x, exponent, table in rows]
    wanted = encode(kept)

    before = device.counters()
    chosen = device.keep_tables(layers, *seen(device.statistics, *last))
    assert chosen == [KeepTable(*own) for own in zip(exponents, tables, strict=True)]
    frame = device.encode(gradients, masks=chosen)
    assert frame == wanted
    for found, x, golden in zip(device.decode(frame), kept, decode(wanted), strict=True):
        assert torch.equal(found.view(torch.int16), x.view(torch.int16))
        assert torch.equal(found.view(torch.int16), golden.view(torch.int16))

    after = device.counters()
    elements = sum(x.numel() for x in gradients)
    assert after["encoded"] - before["encoded"] == elements
    assert after["decoded"] - before["decoded"] > 0
    assert after["tile_words"] > before["tile_words"]
    assert 0 < sum(int(x.count_nonzero()) for x in kept) < elements


@pytest.mark.parametrize(
    ("rows", "exponents", "message"),
    [
        (np.zeros((2, 9), np.int8), [127], "exponents must be as many as regions, 2, not 1"),
        (np.zeros((0, 9), np.int8), [], r"seen must be rows of int8, .*, not int8 of shape \(0, 9"),
        (np.zeros((2, 9)), [1, 2], r"seen must be rows of int8, .*, not float64 of shape \(2, 9\)"),
        (np.zeros(9, np.int8), [1] * 9, r"seen must be rows of int8, .*, not int8 of shape \(9,\)"),
        (np.zeros((1, 8), np.int8), [1], "b must have 9 rows, as many as a has columns, not 10"),
    ],
)
def test_refusals(rows: np.ndarray, exponents: list[int], message: str) -> None:
    with (
        adagrain.open_device("golden:", WHOLE) as device,
        pytest.raises(ValueError, match=message),
    ):
        device.keep_tables(network(0, WHOLE), rows, exponents)


def test_a_build_without_slices() -> None:
    message = "chain needs a build with a granularity unit: device preset 'full' has no slices"
    with (
        adagrain.open_device("golden:", "full") as device,
        pytest.raises(ValueError, match=message),
    ):
        device.keep_tables(network(0, WHOLE), np.zeros((1, 9), np.int8), [127])
