"""Products whose scales the driver applies: values and flags of SoftFloat, and of the device."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
import softfloatpy
import torch
from matrices import GRANULAR

import adagrain
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.models.arithmetic.float import Flag


@pytest.fixture(scope="module")
def device() -> Iterator[Coprocessor]:
    with adagrain.open_device("golden:", GRANULAR) as opened:
        yield opened


def nearest(total: int, exponent: int) -> tuple[int, int]:
    """SoftFloat's float32 nearest to a multiple of a sum, as bits, and the flags that it raises."""
    softfloatpy.set_tininess_mode(softfloatpy.TininessMode.AFTER_ROUNDING)
    softfloatpy.set_exception_flags(softfloatpy.ExceptionFlag(0))
    exact = softfloatpy.Float64.from_float(math.ldexp(total, exponent))
    found = softfloatpy.f64_to_f32(exact)
    return int.from_bytes(found.to_bytes(), "big"), int(softfloatpy.get_exception_flags())


def operands() -> tuple[torch.Tensor, torch.Tensor]:
    """Of sums up to 2**25."""
    rng = np.random.default_rng(1)
    shapes = [rng.integers(-128, 128, shape) for shape in ((3, 3_000), (3_000, 60))]
    a, b = (torch.from_numpy(numbers).char() for numbers in shapes)
    a[0], b[:, :20] = 127, 127
    return a, b


def test_values_and_flags_are_softfloats(device: Coprocessor) -> None:
    a, b = operands()
    sums = (a.long() @ b.long()).tolist()
    for low in (-180, -30, 70):
        exponents = range(low, low + 60)
        found = device.matmul(a, b, "INT8", (0.5, [2.0 ** (e + 1) for e in exponents]))
        bits = found.values.numpy().view(np.uint32)
        for row, words, flags in zip(sums, bits, found.flags, strict=True):
            pairs = zip(words.tolist(), flags.tolist(), strict=True)
            for total, exponent, pair in zip(row, exponents, pairs, strict=True):
                assert pair == nearest(total, exponent), (total, exponent)


@pytest.mark.parametrize(
    ("terms", "scale", "value", "flags"),
    [
        ([127] * 1040 + [126] * 24 + [33], 1.0, 2.0**24, Flag.INEXACT),  # 2**24 + 1
        ([1], 2.0**-151, 0.0, Flag.INEXACT | Flag.UNDERFLOW),
        ([3], 2.0**-150, 2.0**-148, Flag.INEXACT | Flag.UNDERFLOW),
        ([1], 2.0**-149, 2.0**-149, 0),
        ([1], 2.0**128, math.inf, Flag.INEXACT | Flag.OVERFLOW),
        ([0], 2.0**512, 0.0, 0),
        ([-128] * 131_072, 2.0**-32, -0.5, Flag.OVERFLOW),
    ],
)
def test_flags(
    device: Coprocessor, terms: list[int], scale: float, value: float, flags: int
) -> None:
    a = torch.tensor([terms], dtype=torch.int8)
    b = torch.where((a == 127) | (a == -128), a, 1).t()
    found = device.matmul(a, b, "INT8", (scale, 1.0))
    assert (found.values.item(), found.flags.item()) == (value, flags)


def test_the_device_rescales_alike(device: Coprocessor) -> None:
    a, b = operands()
    exponents = torch.tensor([*range(-125, -95), *range(99, 129)]).double()
    scales = (0.5, 2.0**exponents)
    here = device.matmul(a[:, :90], b[:90], "INT8", scales)
    there = device.matmul(a[:, :90], b[:90], "INT8", scales, to="FP32")
    assert torch.equal(here.values, there.values)
    assert torch.equal(here.flags, there.flags)
    assert there.flags.any()
