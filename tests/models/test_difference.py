"""Golden differences: against plain fractions and NumPy, the fused kernel against the reference."""

import math
import random
import struct
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from adagrain.models.difference import Difference, difference, differences_of_elements
from adagrain.models.interface.formats import FORMATS, STREAMED, FormatCode
from adagrain.models.interface.records import size
from adagrain.models.interface.units.difference import (
    DIFFERENCE,
    DifferenceBegin,
    DifferenceOpcode,
    DifferenceRecord,
)
from adagrain.models.interface.units.statistics import StatisticsBegin
from adagrain.models.statistics import statistics_of

LARGEST = float.fromhex("0x1.fffffep127")
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 2.0**-149, -(2.0**-149), 2.0**-126, LARGEST]
KERNELS = ("fused", "reference")
floats = st.floats(width=32) | st.sampled_from(SPECIAL)
exponents = st.integers(-126, 127)


def rounded(x: float, exponent: int) -> tuple[int, bool]:
    """q of one element by exact fractions; Python rounds to nearest even."""
    q = round(Fraction(x) * Fraction(2) ** (14 - exponent))
    return max(-32767, min(32767, q)), abs(q) > 32767


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_sign_of_a_view_is_seen(kernel: str) -> None:
    x = torch.randn(50)
    assert difference(torch._neg_view(x), -x, 0, kernel=kernel).bitwise_equal
    assert difference(-x, torch._neg_view(x), None, kernel=kernel).bitwise_equal


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(floats, floats) | floats.map(lambda x: (x, x)), min_size=1), exponents)
def test_equals_fractions(kernel: str, pairs: list[tuple[float, float]], exponent: int) -> None:
    a, b = (torch.tensor(column) for column in zip(*pairs, strict=True))
    found = difference(a, b, exponent, kernel=kernel)
    finite = [(rounded(x, exponent), rounded(y, exponent)) for x, y in pairs if is_finite(x, y)]
    errors = [abs(x - y) for (x, _), (y, _) in finite]
    truths = [abs(y) for _, (y, _) in finite]
    assert found == Difference(
        count=len(pairs),
        non_finite=len(pairs) - len(finite),
        saturated=sum(clamped for pair in finite for _, clamped in pair),
        sum_squared=sum(error**2 for error in errors),
        sum_absolute=sum(errors),
        energy=sum(truth**2 for truth in truths),
        sum_magnitude=sum(truths),
        largest=max(errors, default=0),
        absmax=max(truths, default=0),
        exponent=exponent + 127,
        bitwise_equal=int(all(struct.pack("f", x) == struct.pack("f", y) for x, y in pairs)),
    )


def is_finite(x: float, y: float) -> bool:
    return math.isfinite(x) and math.isfinite(y)


@pytest.mark.parametrize("code", STREAMED)
def test_fused_equals_reference(code: FormatCode, seed: int) -> None:
    """Over any bits and over close tensors, in lengths of one chunk and of several."""
    generator = random.Random(f"{code} {seed}")
    fmt = FORMATS[code]
    for length in (1, 5, 1000, 40_000):
        raw = bytearray(generator.randbytes(length * fmt.bits // 8))
        b = torch.frombuffer(raw, dtype=fmt.dtype)
        if generator.random() < 0.5:
            b = torch.randn(length).to(fmt.dtype)
        for a in (b, b * 1.125, b.flip(0)):
            for exponent in (None, -126, 127, generator.randrange(-20, 20)):
                both = [difference(a, b, exponent, kernel=kernel) for kernel in KERNELS]
                assert both[0] == both[1], f"seed {seed}, exponent {exponent}"


def test_several_pairs_are_those_of_single_calls(seed: int) -> None:
    """Of all formats, of lengths about the compiled blocks; equal, or with one word that is not."""
    generator = torch.Generator().manual_seed(seed)
    pairs, exponents = [], []
    for number, length in enumerate((1, 2, 2047, 2048, 2049, 5000)):
        for code in STREAMED:
            b = torch.randn(length, generator=generator).to(FORMATS[code].dtype)
            pairs += [(b.clone(), b), (b.clone(), b)]
            pairs[-1][0][-1] *= -1
            exponents += [number - 2, 2 - number]
    found = differences_of_elements(pairs, exponents)
    rows = zip(pairs, exponents, strict=True)
    assert found == [difference(a, b, e, kernel="reference") for (a, b), e in rows], f"seed {seed}"
    assert [own.bitwise_equal for own in found] == [1, 0] * (len(pairs) // 2)
    assert differences_of_elements([], []) == []


@pytest.mark.parametrize("offset", [-1, 0, 1])
@pytest.mark.parametrize("exponent", [-126, 0, 127])
def test_clamping_begins_at_the_same_element(exponent: int, offset: int) -> None:
    word = (exponent + 127) << 23 | 0x7FFF00 + offset
    b = torch.tensor([word, word - (1 << 31)], dtype=torch.int32).view(torch.float32)
    for a, elements in ((b, 4), (torch.zeros(2), 2)):
        found = difference(a, b, exponent)
        assert found == difference(a, b, exponent, kernel="reference")
        assert found.saturated == (elements if offset >= 0 else 0)


@pytest.mark.parametrize("code", STREAMED)
def test_fused_equals_reference_where_denormals_are_flushed(code: FormatCode) -> None:
    fmt = FORMATS[code]
    raw = bytearray(random.Random(code).randbytes(2000 * fmt.bits // 8))
    high = slice(fmt.bits // 8 - 1, None, fmt.bits // 8)
    raw[high] = bytes(byte & 0x83 for byte in raw[high])  # small and subnormal
    b = torch.frombuffer(raw, dtype=fmt.dtype)
    wanted = [difference(b.flip(0), b, e, kernel="reference") for e in (-126, -112)]
    assert torch.set_flush_denormal(True)
    try:
        found = [difference(b.flip(0), b, e) for e in (-126, -112)]
    finally:
        torch.set_flush_denormal(False)
    assert found == wanted


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_measures_equal_those_in_double(dtype: torch.dtype, kernel: str) -> None:
    """Whole multiples of the unit, of which double precision loses nothing."""
    generator = torch.Generator().manual_seed(5)
    a, b = (torch.randint(-128, 128, (20, 50), generator=generator) * 2.0**-9 for _ in range(2))
    b[0, 0] = 0.25  # the largest exponent is -2, the unit 2^-16
    found = difference(a.to(dtype), b.to(dtype), kernel=kernel)
    assert (found.exponent, found.count, found.valid) == (125, 1000, True)
    of_a, of_b = a.double().numpy(), b.double().numpy()
    error = np.abs(of_a - of_b)
    assert found.rmse == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-14)
    assert found.mean_absolute == pytest.approx(np.mean(error), rel=1e-14)
    assert found.largest_difference == np.max(error)
    rms = np.sqrt(np.mean(of_b**2))
    assert found.relative_rmse == pytest.approx(found.rmse / rms, rel=1e-14)
    mean = np.mean(np.abs(of_b))
    assert found.relative_mean_absolute == pytest.approx(found.mean_absolute / mean, rel=1e-14)
    largest = np.max(np.abs(of_b))
    assert found.relative_largest_difference == pytest.approx(np.max(error) / largest, rel=1e-14)


def test_updates_do_not_drown_in_weights() -> None:
    """A guess that is off by a fifth is told so, however small the update is."""
    b = torch.randn(10_000, generator=torch.Generator().manual_seed(1)) * 4e-5
    assert difference(b * 1.2, b).relative_rmse == pytest.approx(0.2, rel=1e-3)


@pytest.mark.parametrize("kernel", KERNELS)
def test_only_words_tell_zeros_and_nans_apart(kernel: str) -> None:
    zeros = torch.zeros(2)
    found = difference(-zeros, zeros, kernel=kernel)
    assert (found.bitwise_equal, found.sum_absolute) == (0, 0)
    assert math.isnan(found.relative_rmse)
    nans = torch.full((2,), math.nan)
    found = difference(nans, nans, kernel=kernel)
    assert (found.bitwise_equal, found.non_finite, found.valid) == (1, 2, False)
    assert math.isnan(found.rmse) and math.isnan(found.mean_absolute)
    assert math.isnan(found.largest_difference)
    signalling, quiet = torch.tensor([[0x7D00], [0x7F00]], dtype=torch.int16).view(torch.float16)
    assert difference(signalling, quiet, kernel=kernel).bitwise_equal == 0
    found = difference(zeros + 1, zeros, 0, kernel=kernel)
    assert found.relative_rmse == found.relative_mean_absolute == math.inf
    assert found.relative_largest_difference == math.inf
    assert found.rmse == found.mean_absolute == found.largest_difference == 1.0


def test_what_pytorch_negates_only_when_it_is_read_is_negated() -> None:
    number = torch.tensor([1 + 2j])
    found = difference(number.conj().imag, number.imag, 1)
    assert not found.bitwise_equal and found.sum_squared == (1 << 15) ** 2
    assert statistics_of([number.conj().imag], [1])[0].s1 == -(1 << 14)


def test_any_strides_and_gradients_will_do() -> None:
    a, b = torch.randn(6, 8, requires_grad=True), torch.randn(8, 6).t()
    assert difference(a, b, 1) == difference(a.detach().clone(), b.contiguous(), 1)


def test_records_there_and_back() -> None:
    found = difference(torch.randn(100), torch.randn(100))
    assert len(found.record()) == size(DifferenceRecord) == 54
    assert Difference.from_record(found.record()) == found


def test_sums_of_the_longest_pass_fit_the_record() -> None:
    most = 2**31 - 1
    for name, largest in (
        ("saturated", 2),
        ("sum_squared", 65534**2),
        ("sum_absolute", 65534),
        ("energy", 32767**2),
        ("sum_magnitude", 32767),
    ):
        assert (most * largest).bit_length() <= DifferenceRecord[name].width


def test_a_pass_begins_as_one_over_a_single_tensor() -> None:
    assert size(DifferenceBegin) == size(StatisticsBegin) == 8
    for name in ("count", "format", "exponent"):
        assert DifferenceBegin[name] == StatisticsBegin[name]
    assert [operation.opcode for operation in DIFFERENCE.operations] == list(DifferenceOpcode)


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        (
            torch.ones(3),
            torch.ones(3, 1),
            {},
            r"shape of b must be that of a, \(3,\), not \(3, 1\)",
        ),
        (
            torch.ones(0),
            torch.ones(0),
            {},
            "tensors must have from 1 to 2147483647 elements, not 0",
        ),
        (
            torch.ones(1).expand(1 << 31),
            torch.ones(1).expand(1 << 31),
            {},
            "tensors must have from 1 to 2147483647 elements, not 2147483648",
        ),
        (
            torch.ones(1),
            torch.ones(1),
            {"exponent": 128},
            "exponent must be from -126 to 127, not 128",
        ),
        (
            torch.ones(1),
            torch.ones(1),
            {"kernel": "fast"},
            "kernel must be one of fused, reference, not 'fast'",
        ),
    ],
)
def test_wrong_values(a: torch.Tensor, b: torch.Tensor, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        difference(a, b, **options)


def test_wrong_types() -> None:
    with pytest.raises(TypeError, match=r"that of a, torch\.float32, not torch\.float16"):
        difference(torch.ones(1), torch.ones(1).half())
    with pytest.raises(TypeError, match=r"dtype must be one of .*, not torch\.float64"):
        difference(torch.ones(1).double(), torch.ones(1).double())
