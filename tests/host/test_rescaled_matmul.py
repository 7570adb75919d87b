"""Products that come back packed in another precision: bit for bit the golden sums, rescaled."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from matrices import GRANULAR, SHAPES, SLICES, operands
from transports import ForgetfulTransport

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.device.scales import Scales
from adagrain.models.arithmetic.float import Rounded
from adagrain.models.dot_product import dot
from adagrain.models.interface.precision import Precision
from adagrain.models.numerics.matmul import packed_rows
from adagrain.models.numerics.matrices import DTYPES
from adagrain.models.rescale import rescale
from adagrain.sim.simulators import runner


def special_operands(
    m: int, k: int, n: int, precision: Precision
) -> tuple[torch.Tensor, torch.Tensor]:
    """In FP32 and FP16 with an infinity, and with a sum that is not a number."""
    a, b = operands(m, k, n, precision)
    if not precision.integer:
        a[0, 0], b[0, n // 2] = torch.inf, 0.0
    return a, b


def wanted(
    a: torch.Tensor, b: torch.Tensor, precision: Precision, exponents: np.ndarray, to: Precision
) -> Rounded:
    """Bits, and the flags of each number's word."""
    rows, columns = packed_rows(a, precision), packed_rows(b.t(), precision)
    shape = (len(rows), len(columns))
    pairs = np.repeat(rows, shape[1], axis=0), np.tile(columns, (shape[0], 1))
    sums = Rounded(*(part.reshape(shape) for part in dot(*pairs, precision)))
    words, flags = rescale(sums.words, precision, exponents, to)
    flags |= sums.flags
    number = np.arange(shape[1])
    word_of = number // SLICES * SLICES + number % SLICES // to.lanes
    for word in set(word_of.tolist()):
        together = word_of == word
        flags[:, together] = np.bitwise_or.reduce(flags[:, together], axis=1)[:, None]
    return Rounded(words, flags)


def bits(values: torch.Tensor, to: Precision) -> np.ndarray:
    array = values.numpy()
    return array.view(f"u{array.itemsize}").astype(np.int64) & ((1 << to.bits) - 1)


@pytest.fixture(scope="module", params=["golden:", "sim:"])
def device(request: pytest.FixtureRequest) -> Iterator[Coprocessor]:
    if request.param == "sim:" and (reason := runner.missing("verilator")):
        pytest.skip(reason)
    with adagrain.open_device(request.param, GRANULAR) as opened:
        yield opened


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("to", Precision, ids=lambda p: p.name)
@pytest.mark.parametrize("precision", Precision, ids=lambda p: p.name)
def test_products_in_any_precision(
    device: Coprocessor, precision: Precision, to: Precision, shape: tuple[int, int, int]
) -> None:
    a, b = special_operands(*shape, precision)
    scales: Scales | None = None
    exponents = np.full(shape[2], 3)
    if precision.integer:
        columns = np.arange(shape[2]) % 7 - 10
        scales = (0.5, torch.from_numpy(2.0**columns))
        exponents = columns + 2
    found = device.matmul(a, b, precision, scales, to=to.name, to_scale=0.125)
    assert found.values.dtype == DTYPES[to]
    assert found.scale == 0.125
    words, flags = wanted(a, b, precision, exponents, to)
    assert np.array_equal(bits(found.values, to), words)
    assert np.array_equal(found.flags.numpy(), flags)
    if to.integer:
        assert int(found.values.abs().max()) <= {8: 127, 4: 7}[to.bits]


def test_two_layers(device: Coprocessor) -> None:
    """The first layer's results enter the second one as they are."""
    x, first = special_operands(9, 24, 12, Precision.INT8)
    second = special_operands(12, 12, 6, Precision.INT4)[1]
    hidden = device.matmul(x, first, "INT8", (2.0**-7, 2.0**-7), to="INT4", to_scale=0.5)
    exact = (x.double() @ first.double()) * 2.0**-14 / hidden.scale
    assert torch.equal(hidden.values.double(), exact.round().clamp(-7, 7))
    found = device.matmul(hidden.values, second, "INT4", (hidden.scale, 0.25))
    assert torch.equal(found.values.double(), hidden.values.double() @ second.double() * 0.125)


@pytest.mark.parametrize("every", [31, 41])
def test_a_device_that_is_reset_in_between(every: int) -> None:
    transport = ForgetfulTransport(GRANULAR, every=every)
    a, b = special_operands(9, 13, 7, Precision.INT8)
    scales = (1.0, torch.from_numpy(2.0 ** (np.arange(7) % 4)))
    with adagrain.open_device("golden:", GRANULAR) as sound:
        right = sound.matmul(a, b, "INT8", scales, to="INT8", to_scale=1024.0)
    with Coprocessor(transport, GRANULAR, url="test:", timeout=0.05, retries=40) as device:
        for _ in range(4):
            found = device.matmul(a, b, "INT8", scales, to="INT8", to_scale=1024.0)
            assert torch.equal(found.values, right.values)
            assert torch.equal(found.flags, right.flags)
        assert device.counters()["restored"] > 0


def test_exponents_are_written_where_they_change() -> None:
    a, b = special_operands(9, 8, 15, Precision.INT8)
    per_column = torch.from_numpy(2.0 ** np.arange(15))
    with adagrain.open_device("golden:", GRANULAR) as device:
        alike = device.matmul(a, b, "INT8", to="INT8", to_scale=0.5).bytes_moved
        once = device.matmul(a, b, "INT8", to="INT8").bytes_moved
        each = device.matmul(a, b, "INT8", (1.0, per_column), to="INT8").bytes_moved
    row_tiles, column_tiles = 2, 3
    assert once == alike
    assert each == once + (row_tiles * column_tiles - 1) * SLICES


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"to": "FP8"}, "to must be one of FP32, FP16, INT8, INT4, not 'FP8'"),
        ({"to_scale": 2.0}, "to_scale must be 1 where to is None, not 2"),
        ({"to": "INT8", "to_scale": 12.0}, "to_scale must be a positive power of two, not 12"),
        ({"to": "INT8", "to_scale": -2.0}, "to_scale must be a positive power of two, not -2"),
        ({"to": "INT8", "to_scale": 0.0}, "to_scale must be a positive power of two, not 0"),
        ({"to": "INT8", "to_scale": math.nan}, "to_scale must be a positive power of two, not nan"),
        (
            {"to": "FP32", "to_scale": 2.0**-128},
            r"scales of a and b over to_scale must be from 2\*\*-128 to 2\*\*127, not 2\*\*128",
        ),
        (
            {"to": "FP32", "scales": (2.0**-70, [1.0, 2.0, 2.0**-59, 1.0])},
            r"scales of a and b over to_scale must be from 2\*\*-128 to 2\*\*127, not 2\*\*-129",
        ),
    ],
)
def test_wrong_arguments(changes: dict[str, object], message: str) -> None:
    a, b = special_operands(3, 9, 4, Precision.INT8)
    with (
        adagrain.open_device("golden:", GRANULAR) as device,
        pytest.raises(ValueError, match=message),
    ):
        device.matmul(a, b, "INT8", **changes)  # type: ignore[arg-type]
