"""Products on a device: bit for bit the golden ones, whatever the shape; loud errors."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from matrices import GRANULAR, SHAPES, operands
from transports import DyingTransport, ForgetfulTransport

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.models.arithmetic.float import Flag
from adagrain.models.interface.precision import INTEGERS, Precision
from adagrain.models.numerics.matmul import matmul, reference
from adagrain.sim.simulators import runner

OF_INTEGERS = replace(GRANULAR, precisions=INTEGERS)


def has_verilator(url: str) -> bool:
    return url == "golden:" or runner.missing("verilator") is None


@pytest.fixture(scope="module", params=["golden:", "sim:"])
def device(request: pytest.FixtureRequest) -> Iterator[Coprocessor]:
    if not has_verilator(request.param):
        pytest.skip(str(runner.missing("verilator")))
    with adagrain.open_device(request.param, GRANULAR) as opened:
        yield opened


@pytest.mark.parametrize("shape", [(1, 1, 1), *SHAPES], ids=str)
@pytest.mark.parametrize("precision", Precision, ids=lambda p: p.name)
def test_products_of_any_shape(
    device: Coprocessor, precision: Precision, shape: tuple[int, int, int]
) -> None:
    a, b = operands(*shape, precision)
    parts: list[tuple[int, int]] = []
    found = device.matmul(a, b, precision, progress=lambda *done: parts.append(done))
    values, flags = reference(a, b, precision)
    assert torch.equal(found.values, values)
    assert torch.equal(found.values, matmul(a, b, precision))
    assert torch.equal(found.flags, flags)
    assert parts[-1] == (len(parts), len(parts))
    assert (found.cycles > 0) == (device.url == "sim:")
    given = (a.numel() + b.numel()) * precision.bits // 8
    assert found.bytes_moved >= given + 5 * found.values.numel()  # each with its flags


def test_special_values_raise_flags(device: Coprocessor) -> None:
    a = torch.tensor([[torch.inf, 1.0], [torch.nan, 1.0], [3e38, 3e38]])
    b = torch.tensor([[0.0], [1.0]])
    found = device.matmul(a, torch.cat([b, b.flip(0) * 3], dim=1), "FP32")
    assert found.values.isnan().tolist() == [[True, False], [True, True], [False, False]]
    assert found.flags.tolist() == [[16, 0], [0, 0], [0, 5]]


def test_jobs_are_of_so_many_rows() -> None:
    a, b = operands(2500, 3, 12, Precision.INT8)
    parts: list[tuple[int, int]] = []
    with adagrain.open_device("golden:", GRANULAR) as device:
        found = device.matmul(a, b, "INT8", progress=lambda *done: parts.append(done))
        assert torch.equal(found.values, matmul(a, b, Precision.INT8))
        packed = device.matmul(a, b, "INT8", to="INT8", to_scale=64.0)
        exact = (found.values / 64.0).round().clamp(-127, 127)
        assert torch.equal(packed.values, exact.to(torch.int8))
    assert parts == [(1, 3), (2, 3), (3, 3)]
    column_tiles, words = 3, 1
    assert found.busy == 2500 * column_tiles * words


def test_integers_that_wrap_are_flagged(device: Coprocessor) -> None:
    a = torch.full((1, 133_200), 127, dtype=torch.int8)
    found = device.matmul(a, a.t(), "INT8")
    assert found.values.item() == 133_200 * 127**2 - (1 << 32)
    assert found.flags.item() == Flag.OVERFLOW


def test_scaled_numbers_that_overflow_are_flagged(device: Coprocessor) -> None:
    a, b = torch.tensor([[1], [0]], dtype=torch.int8), torch.tensor([[1]], dtype=torch.int8)
    found = device.matmul(a, b, "INT8", (2.0**100, 2.0**100))
    assert found.values.flatten().tolist() == [torch.inf, 0]
    assert found.flags.flatten().tolist() == [Flag.OVERFLOW | Flag.INEXACT, 0]


def test_scales(device: Coprocessor) -> None:
    a, b = operands(3, 9, 4, Precision.INT8)
    sums = matmul(a, b, Precision.INT8)
    found = device.matmul(a, b, "INT8", (0.25, torch.tensor([1.0, 2.0, 0.5, 8.0])))
    assert torch.equal(found.values, sums * torch.tensor([0.25, 0.5, 0.125, 2.0]))
    assert torch.equal(device.matmul(a, b, "INT8", (2.0, 1.0)).values, sums * 2.0)


@pytest.mark.parametrize("every", [23, 41])
def test_a_device_that_is_reset_in_between(every: int) -> None:
    transport = ForgetfulTransport(GRANULAR, every=every)
    device = Coprocessor(transport, GRANULAR, url="test:", timeout=0.05, retries=40)
    with device:
        a, b = operands(9, 13, 5, Precision.FP16)
        assert torch.equal(device.matmul(a, b, "FP16").values, matmul(a, b, Precision.FP16))
        found = {device.matmul(a, b, "FP16").busy for _ in range(20)}
        assert device.counters()["restored"] > 0
    with adagrain.open_device("golden:", GRANULAR) as whole:
        assert found <= {0, whole.matmul(a, b, "FP16").busy}
    assert 0 in found, "where it counts anew on the way"


def test_the_golden_model_takes_over() -> None:
    broken = Coprocessor(
        DyingTransport(GRANULAR, answers=9), GRANULAR, url="test:", timeout=0.01, retries=2
    )
    a, b = operands(17, 8, 70, Precision.INT8)
    broken.replaceable = True
    with broken as device:
        found = device.matmul(a, b, "INT8")
        assert torch.equal(found.values, matmul(a, b, Precision.INT8))
        assert (found.cycles, found.busy) == (0, 0)
        assert device.counters()["fallbacks"] == 1


@pytest.mark.parametrize(
    ("scales", "message"),
    [
        ((0.0, 1.0), "scale must be a positive power of two, not 0"),
        ((1.0, 3.0), "scale must be a positive power of two, not 3"),
        ((torch.inf, 1.0), "scale must be a positive power of two, not inf"),
        ((-2.0, 1.0), "scale must be a positive power of two, not -2"),
        (
            (2.0**600, 2.0**600),
            r"scales of a and b must multiply to 2\*\*-512 to 2\*\*512, not 2\*\*1200",
        ),
        ((1.0, [1.0, 2.0, 4.0]), "scales must be one of a, and one or 4 of b, not 1 and 3"),
    ],
)
def test_scales_that_do_not_fit(scales: tuple[float, float], message: str) -> None:
    a, b = operands(3, 9, 4, Precision.INT8)
    with (
        adagrain.open_device("golden:", GRANULAR) as device,
        pytest.raises(ValueError, match=message),
    ):
        device.matmul(a, b, "INT8", scales)


@pytest.mark.parametrize("url", ["golden:", pytest.param("sim:", marks=pytest.mark.full)])
def test_a_device_of_integers_alone(url: str) -> None:
    if not has_verilator(url):
        pytest.skip(str(runner.missing("verilator")))
    with adagrain.open_device(url, OF_INTEGERS) as device:
        for precision in INTEGERS:
            a, b = operands(9, 131, 5, precision)
            found = device.matmul(a, b, precision)
            assert torch.equal(found.values, matmul(a, b, precision))
            for to in INTEGERS:
                packed = device.matmul(a, b, precision, to=to.name, to_scale=8.0)
                largest = {8: 127, 4: 7}[to.bits]
                exact = (found.values / 8.0).round().clamp(-largest, largest)  # to even
                assert torch.equal(packed.values, exact.to(torch.int8))
        assert device.selftest().passed
        frames = [device.counters()["frames"] for _ in range(2)]
        message = "precision must be one of INT8, INT4 on device preset 'whole', not FP16"
        with pytest.raises(ValueError, match=message):
            device.matmul(a.half(), b.half(), "FP16")
        with pytest.raises(ValueError, match=r"to must be one of INT8, INT4 .* not FP32"):
            device.matmul(a, b, "INT4", to="FP32")
        frames.append(device.counters()["frames"])
        assert frames[2] - frames[1] == frames[1] - frames[0]  # nothing was sent


def test_wrong_arguments() -> None:
    ones = torch.ones(2, 2)
    with adagrain.open_device("golden:", GRANULAR) as device:
        known = "precision must be one of FP32, FP16, INT8, INT4, not 'FP8'"
        with pytest.raises(ValueError, match=known):
            device.matmul(ones, ones, "FP8")
        with pytest.raises(ValueError, match="scales must be None for FP32"):
            device.matmul(ones, ones, "FP32", (1.0, 1.0))
        with pytest.raises(TypeError, match=r"a must be of torch.int8 for INT4, not torch.float32"):
            device.matmul(ones, ones, "INT4")
    with adagrain.open_device("golden:", "small") as device:
        missing = (
            "matmul needs a build with a granularity unit: device preset 'small' has no slices"
        )
        with pytest.raises(ValueError, match=missing):
            device.matmul(ones, ones, "FP32")
