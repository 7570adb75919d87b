"""Golden statistics: the reference against plain Python, the fused kernel against the reference."""

import math
import os
import random
import signal
import struct
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from adagrain.models.interface.formats import FORMATS, STREAMED, FormatCode
from adagrain.models.statistics import Statistics, statistics

LARGEST = float.fromhex("0x1.fffffep127")
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 2.0**-149, -(2.0**-149), 2.0**-126, LARGEST]
floats = st.floats(width=32) | st.sampled_from(SPECIAL)
exponents = st.integers(-126, 127)


def rounded(x: float, exponent: int) -> tuple[int, bool]:
    """q of one element by exact fractions; Python rounds to nearest even."""
    q = round(Fraction(x) * Fraction(2) ** (14 - exponent))
    return max(-32767, min(32767, q)), abs(q) > 32767


@settings(max_examples=200, deadline=None)
@given(st.lists(floats, min_size=1, max_size=40), exponents)
def test_reference_equals_fractions(elements: list[float], exponent: int) -> None:
    found = statistics(torch.tensor(elements), exponent, histogram=True, kernel="reference")
    finite = [x for x in elements if math.isfinite(x)]
    qs = [rounded(x, exponent) for x in finite]
    assert found.count == len(elements)
    assert found.finite == len(finite)
    assert found.nan == sum(map(math.isnan, elements))
    assert found.positive_infinity == elements.count(math.inf)
    assert found.zero == finite.count(0.0)
    assert found.saturated == sum(clamped for _, clamped in qs)
    for power in (1, 2, 3, 4):
        assert getattr(found, f"s{power}") == sum(q**power for q, _ in qs)
    assert found.none_finite == (not finite)
    if finite:
        order = sorted(finite, key=lambda x: (x, math.copysign(1, x)))
        assert found.minimum == word(order[0])
        assert found.maximum == word(order[-1])
    assert found.histogram is not None
    assert sum(count for count, _ in found.histogram) == len(finite) - finite.count(0.0)


def bins_by_fractions(elements: list[float]) -> list[tuple[int, Fraction]]:
    """The 64 bins: counts, and energies in units of each bin's own exponent, exact."""
    finite = [Fraction(x) for x in elements if math.isfinite(x) and x]
    largest = max((_exponent(x) for x in finite), default=-127)
    bins = [(0, Fraction(0))] * 64
    for x in finite:
        middle = _binade(x) * (Fraction(1, 2) if _exponent(x) == -127 else Fraction(3, 2))
        halves = 2 * _exponent(x) + (abs(x) >= middle)
        number = min(2 * largest + 1 - halves, 63)
        exponent = max(largest - number // 2, -126)
        truncated = abs(x) // (_binade(x) / 128) * _binade(x) / 128
        count, energy = bins[number]
        bins[number] = count + 1, energy + (truncated * 128 / Fraction(2) ** exponent) ** 2
    return bins


def _exponent(x: Fraction) -> int:
    """⌊log2 |x|⌋; −127 for subnormals, as in their field."""
    return max(math.frexp(float(x))[1] - 1, -127)


def _binade(x: Fraction) -> Fraction:
    return Fraction(2) ** max(_exponent(x), -126)


@pytest.mark.parametrize("seed", range(12))
def test_histogram_equals_fractions(seed: int) -> None:
    """Bins of any bits, of few binades, and of the smallest numbers; the last bin's energy too,
    of which less than 4/3 is lost in rounding down."""
    generator = random.Random(seed)
    fields = (255, 80, 34, 3)[seed % 4]
    words = [
        generator.randrange(2) << 31
        | generator.randrange(fields) << 23
        | generator.getrandbits(23) & -generator.randrange(2)
        for _ in range(generator.choice([1, 20, 300]))
    ]
    tensor = torch.tensor(words, dtype=torch.int64).to(torch.int32).view(torch.float32)
    wanted = bins_by_fractions(tensor.tolist())
    for kernel in ("reference", "fused"):
        found = statistics(tensor, 0, histogram=True, kernel=kernel).histogram
        assert found is not None
        assert [count for count, _ in found] == [count for count, _ in wanted]
        assert [energy for _, energy in found[:63]] == [energy for _, energy in wanted[:63]]
        assert 0 <= wanted[63][1] - found[63][1] < Fraction(4, 3)


def test_the_last_bin_keeps_what_sums_to_whole_units() -> None:
    """Four numbers of half the size weigh as much as one, however small they are."""
    steps = range(31, 61)
    tensor = torch.tensor([1.0] + [2.0**-step for step in steps for _ in range(3)] + [2.0**-60])
    for kernel in ("reference", "fused"):
        found = statistics(tensor, 0, histogram=True, kernel=kernel).histogram
        assert found is not None
        assert found[63] == (len(tensor) - 1, 4 * 128**2)


def word(x: float) -> int:
    return struct.unpack("<I", struct.pack("<f", x))[0]


@pytest.mark.parametrize("code", STREAMED)
@pytest.mark.parametrize("seed", range(8))
def test_fused_equals_reference(code: FormatCode, seed: int) -> None:
    generator = random.Random(f"{code} {seed}")
    fmt = FORMATS[code]
    for _ in range(20):
        raw = bytearray(generator.randbytes(generator.randrange(1, 5000) * fmt.bits // 8))
        tensor = torch.frombuffer(raw, dtype=fmt.dtype)
        if generator.random() < 0.5:
            tensor = (torch.randn(len(tensor)) * 2.0 ** generator.randrange(-8, 8)).to(fmt.dtype)
        exponent = generator.choice([None, -126, -114, 127, generator.randrange(-20, 20)])
        powers = generator.choice([2, 4])
        both = [
            statistics(tensor, exponent, powers=powers, histogram=True, kernel=kernel)
            for kernel in ("fused", "reference")
        ]
        assert both[0] == both[1], f"seed {seed}, exponent {exponent}"


@pytest.mark.parametrize("code", STREAMED)
@pytest.mark.parametrize("exponent", [-126, -120, -112, -111, -110, 127])
def test_fused_equals_reference_where_denormals_are_flushed(
    code: FormatCode, exponent: int
) -> None:
    fmt = FORMATS[code]
    raw = bytearray(random.Random(f"{code} {exponent}").randbytes(3000 * fmt.bits // 8))
    high = slice(fmt.bits // 8 - 1, None, fmt.bits // 8)
    raw[high] = bytes(byte & 0x83 for byte in raw[high])  # small and subnormal
    tensor = torch.frombuffer(raw, dtype=fmt.dtype)
    wanted = statistics(tensor, exponent, histogram=True, kernel="reference")
    assert torch.set_flush_denormal(True)
    try:
        found = statistics(tensor, exponent, histogram=True)
    finally:
        torch.set_flush_denormal(False)
    assert found == wanted


@pytest.mark.parametrize("offset", [-1, 0, 1])
@pytest.mark.parametrize("exponent", [-126, -60, 0, 126, 127])
def test_clamping_begins_at_the_same_element(exponent: int, offset: int) -> None:
    word = (exponent + 127) << 23 | 0x7FFF00 + offset
    tensor = torch.tensor([word, word - (1 << 31)], dtype=torch.int32).view(torch.float32)
    fused = statistics(tensor, exponent)
    assert fused == statistics(tensor, exponent, kernel="reference")
    assert fused.saturated == (2 if offset >= 0 else 0)


@pytest.mark.parametrize("offset", [-1, 0, 1])
@pytest.mark.parametrize("exponent", [-126, -112, 0, 127])
def test_halves_are_rounded_to_even(exponent: int, offset: int) -> None:
    halves = torch.tensor([n + 0.5 for n in range(0, 32768, 7)], dtype=torch.float64)
    halves = (halves * 2.0 ** (exponent - 14)).to(torch.float32)
    near = (halves.view(torch.int32) + offset).view(torch.float32)
    fused = statistics(near, exponent)
    qs = [rounded(x, exponent) for x in near.tolist()]
    assert fused.saturated == sum(clamped for _, clamped in qs)
    assert (fused.s1, fused.s4) == (sum(q for q, _ in qs), sum(q**4 for q, _ in qs))
    assert fused == statistics(near, exponent, kernel="reference")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_starts_its_own_threads() -> None:
    tensor = torch.randn(100_000)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        statistics(tensor, 2)
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # kills the child where it waits for threads that it has not got
            status = 1
            try:
                statistics(tensor, 2)
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
    finally:
        torch.set_num_threads(threads)


def test_fused_equals_reference_over_threads_and_chunks() -> None:
    tensor = torch.randn(400_003, generator=torch.Generator().manual_seed(1))
    for _ in range(2):
        fused = statistics(tensor, None, histogram=True)
        assert fused == statistics(tensor, None, histogram=True, kernel="reference")
        tensor[[0, 2048, 200_001, -1]] = torch.tensor([math.nan, math.inf, -math.inf, -math.nan])


@pytest.mark.parametrize("code", [FormatCode.FP16, FormatCode.BF16])
def test_every_16_bit_element_widens_exactly(code: FormatCode) -> None:
    words = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16)
    narrow = words.view(FORMATS[code].dtype)
    for part in narrow.split(1 << 12):
        wide = statistics(part.to(torch.float32), 0, histogram=True, kernel="reference")
        assert statistics(part, 0, histogram=True, kernel="reference") == wide


def test_moments_are_those_of_torch() -> None:
    x = torch.randn(10_000, generator=torch.Generator().manual_seed(3)) * 5 + 2
    found = statistics(x, None)
    centred = x.double() - x.double().mean()
    deviation = centred.square().mean().sqrt()
    assert found.mean == pytest.approx(float(x.double().mean()), abs=1e-3)
    assert found.variance == pytest.approx(float(deviation**2), rel=1e-3)
    assert found.skewness == pytest.approx(float((centred**3).mean() / deviation**3), abs=1e-3)
    assert found.kurtosis == pytest.approx(float((centred**4).mean() / deviation**4), rel=1e-3)
    assert found.l2_norm == pytest.approx(float(x.double().norm()), rel=1e-4)
    assert found.rms == pytest.approx(float(x.double().square().mean().sqrt()), rel=1e-4)


def test_moments_that_do_not_exist_are_nan() -> None:
    assert math.isnan(statistics(torch.tensor([math.inf]), 0).mean)
    assert math.isnan(statistics(torch.ones(3), 0).skewness)
    assert math.isnan(statistics(torch.randn(9), 0, powers=2).kurtosis)


def test_records_survive_the_wire() -> None:
    found = statistics(torch.randn(100), None, histogram=True)
    assert Statistics.from_record(found.record(), found.histogram_bytes()) == found
    bare = statistics(torch.randn(100), None)
    assert Statistics.from_record(bare.record(), bare.histogram_bytes()) == bare


def test_valid_means_that_sums_may_be_used() -> None:
    assert statistics(torch.ones(4), 0).valid
    assert not statistics(torch.tensor([1.0, 4.0]), 0).valid
    assert not statistics(torch.tensor([1.0, math.nan]), 0).valid


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"x": torch.ones(2, dtype=torch.float64)}, TypeError, "dtype must be one of .* not torch"),
        ({"x": torch.ones(0)}, ValueError, "at least one element, not 0"),
        ({"exponent": 0.5}, TypeError, "exponent must be an integer, not 0.5"),
        ({"exponent": 128}, ValueError, "exponent must be from -126 to 127, not 128"),
        ({"powers": 3}, ValueError, "powers must be 2 or 4, not 3"),
        ({"kernel": "fast"}, ValueError, "kernel must be one of fused, reference, not 'fast'"),
    ],
)
def test_bad_arguments(arguments: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        statistics(**{"x": torch.ones(2), "exponent": 0, **arguments})
