"""Chains of products: the same numbers as products one after the other."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from matrices import GRANULAR as SMALLEST
from transports import DyingTransport, ForgetfulTransport

import adagrain
from adagrain.host.device.chain import Layer
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.link.transport.golden import GoldenTransport
from adagrain.models.arithmetic.float import Flag
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.precision import Precision
from adagrain.sim.simulators import runner

#: Slices that take whole words of each precision, and more operands than the smallest.
GRANULAR = replace(SMALLEST, slices=4, operands=1024)

DTYPES = {
    Precision.FP32: torch.float32,
    Precision.FP16: torch.float16,
    Precision.INT8: torch.int8,
    Precision.INT4: torch.int8,
}


def numbers(shape: tuple[int, int], precision: Precision, draw: np.random.Generator) -> Any:
    if precision.integer:
        low, high = (-8, 8) if precision is Precision.INT4 else (-128, 128)
        return torch.from_numpy(draw.integers(low, high, shape).astype(np.int8))
    values = draw.normal(size=shape) * (draw.random(shape) < 0.8)
    return torch.from_numpy(values).to(DTYPES[precision])


def chain(
    widths: Sequence[int], kinds: Sequence[Precision], rows: int, seed: int
) -> tuple[torch.Tensor, list[Layer]]:
    """Something of ``kinds[0]``, and layers that leave the others."""
    draw = np.random.default_rng(seed)
    layers = []
    for k, n, precision, to in zip(widths[:-1], widths[1:], kinds[:-1], kinds[1:], strict=True):
        integers = precision.integer
        scale = 2.0 ** draw.integers(-3, 4, n) if integers else 1.0
        goes_on = len(layers) + 2 < len(kinds)
        to_scale = 2.0 ** int(draw.integers(-2, 8)) if to.integer or not goes_on else 1.0
        layers.append(Layer(numbers((k, n), precision, draw), to, scale, to_scale))
    return numbers((rows, widths[0]), kinds[0], draw), layers


def one_after_the_other(
    device: Coprocessor, a: torch.Tensor, layers: Sequence[Layer], precision: Precision
) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Numbers and flags of the last product, and the flags of those before."""
    scale, raised = 1.0, [0]
    for layer in layers:
        scales = (scale, layer.scale) if precision.integer else None
        found = device.matmul(a, layer.b, precision, scales, to=layer.to, to_scale=layer.to_scale)
        a, precision, scale = found.values, Precision(layer.to), layer.to_scale
        raised.append(int(np.bitwise_or.reduce(found.flags.numpy().ravel())))
    return found.values, found.flags, int(np.bitwise_or.reduce(raised[:-1]))


def same(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    return found.dtype == wanted.dtype and found.numpy().tobytes() == wanted.numpy().tobytes()


def opened(built: Configuration, *, data_port: bool = True) -> Coprocessor:
    transport = GoldenTransport(built)
    transport.data_port = data_port
    return Coprocessor(transport, built, url="test:", timeout=1, retries=1)


FP32, FP16, INT8, INT4 = Precision
CHAINS = [
    ((7, 5), (INT8, INT8), 3),
    ((64, 128, 33), (INT8, INT8, INT8), 32),
    ((10, 21, 9, 14), (INT8, INT4, INT8, FP16), 17),
    ((6, 9, 5), (FP32, FP32, FP32), 9),
    ((6, 9, 5), (FP16, FP16, INT8), 8),
    ((5, 13, 11, 3), (FP32, INT8, FP32, INT4), 20),
    ((1, 1, 1), (INT4, FP16, FP16), 1),
]


@pytest.mark.parametrize("data_port", [True, False], ids=["port", "link"])
@pytest.mark.parametrize("slices", [4, 10, 6])
@pytest.mark.parametrize(("widths", "kinds", "rows"), CHAINS, ids=str)
def test_a_chain_equals_products_one_after_the_other(
    widths: tuple[int, ...],
    kinds: tuple[Precision, ...],
    rows: int,
    slices: int,
    data_port: bool,
) -> None:
    built = replace(GRANULAR, slices=slices)
    a, layers = chain(widths, kinds, rows, seed=slices)
    with opened(built, data_port=data_port) as device:
        found = device.chain(a, layers, kinds[0])
        values, flags, kept = one_after_the_other(device, a, layers, kinds[0])
    assert same(found.values, values)
    assert same(found.flags, flags)
    assert (found.scale, found.kept) == (layers[-1].to_scale, kept)


def test_rows_go_through_in_groups() -> None:
    """As many at a time as there is room for."""
    a, layers = chain((64, 40, 24), (INT8, INT8, INT8), 70, seed=3)
    with opened(replace(GRANULAR, operands=256)) as device:
        values, *_ = one_after_the_other(device, a, layers, INT8)
        assert same(device.chain(a, layers, INT8).values, values)


def test_flags_of_numbers_in_between_are_told() -> None:
    ones = torch.full((2, 8), 127, dtype=torch.int8)
    layer = Layer(torch.full((8, 8), 127, dtype=torch.int8), INT8)
    with opened(GRANULAR) as device:
        saturated = device.matmul(ones, layer.b, "INT8", (1.0, 1.0), to="INT8").flags
        assert device.chain(ones, [layer, layer], "INT8").kept == int(saturated[0, 0]) != 0
        zero = Layer(torch.zeros((8, 8), dtype=torch.int8), INT8)
        assert device.chain(ones, [zero, layer], "INT8").kept == 0


def sprinkled(matrix: torch.Tensor, draw: np.random.Generator) -> torch.Tensor:
    """Some numbers of floating point replaced by those that overflow, infinities and NaN."""
    if not matrix.is_floating_point():
        return matrix
    others = draw.choice([torch.finfo(matrix.dtype).max, torch.inf, -torch.inf, torch.nan], 4)
    chosen = draw.random(matrix.shape) < draw.choice([0.0, 0.02, 0.1])
    return torch.from_numpy(np.where(chosen, draw.choice(others, matrix.shape), matrix)).to(matrix)


@pytest.mark.parametrize("seed", range(40))
def test_numbers_that_are_not_finite_go_on_as_in_products(seed: int) -> None:
    """Columns that fill up the slices do not make NaNs of infinities, and raise nothing."""
    draw = np.random.default_rng(seed)
    kinds = [Precision(int(draw.choice([FP32, FP16, FP16, INT8]))) for _ in range(4)]
    a, layers = chain([int(n) for n in draw.integers(1, 8, 4)], kinds, 9, seed)
    a, layers = sprinkled(a, draw), [replace(one, b=sprinkled(one.b, draw)) for one in layers]
    with opened(GRANULAR) as device:
        found = device.chain(a, layers, kinds[0])
        values, flags, kept = one_after_the_other(device, a, layers, kinds[0])
    assert same(found.values, values)
    assert same(found.flags, flags)
    assert found.kept == kept


def test_an_infinity_beside_an_empty_slice() -> None:
    """It comes in, or a product overflows; what goes to and fro is counted."""
    ones = Layer(torch.ones(1, 1).half(), FP16)
    with opened(GRANULAR) as device:
        usual = device.chain(torch.ones(2, 1).half(), [ones, ones], FP16)
        for x, factor in ((torch.inf, 1.0), (60000.0, 2.0)):
            layers = [replace(ones, b=ones.b * factor), ones, ones]
            found = device.chain(torch.full((2, 1), x).half(), layers, FP16)
            assert found.values.tolist() == [[torch.inf], [torch.inf]]
            assert (found.kept & Flag.INVALID, found.flags.tolist()) == (0, [[0], [0]])
            assert found.bytes_moved > 2 * usual.bytes_moved


def test_a_device_that_is_reset_or_fails_in_between() -> None:
    a, layers = chain((10, 21, 9), (INT8, INT4, FP16), 17, seed=5)
    with opened(GRANULAR) as device:
        values, *_ = one_after_the_other(device, a, layers, INT8)
    transport = ForgetfulTransport(GRANULAR, at=[30])
    with Coprocessor(transport, GRANULAR, url="test:", timeout=0.05, retries=9) as device:
        assert same(device.chain(a, layers, "INT8").values, values)
        assert device.counters()["restored"] == 1
    dying = DyingTransport(GRANULAR, answers=8)
    with Coprocessor(dying, GRANULAR, url="test:", timeout=0.01, retries=0) as device:
        device.replaceable = True
        found = device.chain(a, layers, "INT8")
        assert same(found.values, values)
        assert (device.counters()["fallbacks"], found.cycles) == (1, 0)


#: Those that the smallest memories have room for.
SHORT = [
    ((7, 5), (INT8, INT8), 3),
    ((12, 9, 4), (INT8, INT8, INT8), 17),
    ((20, 10, 6), (INT4, INT4, FP16), 8),
    ((2, 5, 3), (FP32, FP32, INT8), 9),
    ((3, 4, 2, 2), (FP32, FP32, INT8, INT8), 9),
]


@pytest.mark.parametrize("data_port", [True, False], ids=["port", "link"])
@pytest.mark.skipif(bool(runner.missing("verilator")), reason=str(runner.missing("verilator")))
def test_the_rtl_computes_the_same(data_port: bool) -> None:
    with (
        adagrain.open_device("sim:", SMALLEST, data_port=data_port) as device,
        opened(SMALLEST) as golden,
    ):
        for widths, kinds, rows in SHORT:
            a, layers = chain(widths, kinds, rows, seed=rows)
            if a.is_floating_point():
                a[0, 0] = torch.inf
            found, wanted = (d.chain(a, layers, kinds[0]) for d in (device, golden))
            assert same(found.values, wanted.values)
            assert same(found.flags, wanted.flags)
            assert found.kept == wanted.kept
            assert found.cycles > found.busy > 0


ONES = torch.ones(2, 8, dtype=torch.int8)
LAYER = Layer(torch.ones(8, 8, dtype=torch.int8), INT8)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([], "layers must be at least one, not none"),
        ([LAYER, (1, 2)], r"layers must be of Layer, not \(1, 2\)"),
        ([LAYER, replace(LAYER, b=ONES)], "b must have 8 rows, as many as a has columns, not 2"),
        ([replace(LAYER, to="FP8")], "to must be one of FP32, FP16, INT8, INT4, not 'FP8'"),
        ([replace(LAYER, scale=3.0)], "scale must be a positive power of two, not 3"),
        (
            [replace(LAYER, to="FP16", to_scale=2.0), replace(LAYER, b=LAYER.b.half())],
            "to_scale must be 1 for numbers of FP16 that go on, not 2",
        ),
        ([replace(LAYER, b=LAYER.b[:, :0])], r"must have elements, not shapes \(2, 8\) and \(8, 0"),
        (
            [replace(LAYER, b=torch.ones(8, 64 * 600, dtype=torch.int8))],
            "matrices of a chain must fit into 1024 words of each slice, not 19200",
        ),
    ],
)
def test_what_is_no_chain(layers: list[Layer], message: str) -> None:
    with opened(GRANULAR) as device, pytest.raises((TypeError, ValueError), match=message):
        device.chain(ONES, layers, "INT8")


@pytest.mark.parametrize(("of_a", "of_b"), [(4.0, 1.0), (1.0, 4.0), (1.0, np.full(8, 2.0))])
def test_scales_of_floating_point_are_refused(of_a: float, of_b: object) -> None:
    layer = Layer(torch.ones(8, 8), FP32, scale=of_b)
    with (
        opened(GRANULAR) as device,
        pytest.raises(ValueError, match="scales must be None for FP32: its numbers have exponents"),
    ):
        device.chain(torch.ones(2, 8), [layer], "FP32", scale=of_a)


def test_rows_that_are_too_long_and_builds_without_slices() -> None:
    with opened(replace(GRANULAR, operands=64)) as device:
        layer = replace(LAYER, b=torch.ones(64, 4, dtype=torch.int8))
        with pytest.raises(ValueError, match=r"rows .* must fit into 8 words .* not \[16\]"):
            device.chain(torch.ones(1, 64, dtype=torch.int8), [layer], "INT8")
    with opened(replace(GRANULAR, slices=3)) as device:
        halves = Layer(torch.ones(8, 8, dtype=torch.int8), FP16)
        with pytest.raises(ValueError, match="slices must be even for numbers of FP16 that go on"):
            device.chain(ONES, [halves, Layer(torch.ones(8, 8).half(), FP16)], "INT8")
    with (
        adagrain.open_device("golden:", "small") as device,
        pytest.raises(
            ValueError, match="chain needs a build with a granularity unit: device preset 'sma"
        ),
    ):
        device.chain(ONES, [LAYER], "INT8")
