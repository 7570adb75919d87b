"""Elements as they are sent, and what follows from them: exact, to the nearest, finite."""

import numpy as np
import pytest
import torch

from adagrain.host.compression.averaging import average_of_frames
from adagrain.host.compression.rounding import (
    added,
    averaged,
    bounded,
    is_finite,
    rounded,
    rounded_sum,
    rounded_where,
    same_bits,
    subtracted,
)
from adagrain.host.compression.rounding_kernel import least_special, round_words
from adagrain.models.codec import with_mantissa_bits
from adagrain.models.interface.formats import FORMATS, FormatCode
from adagrain.models.numerics.half_binades import half_binade_sums, half_binades, reaching
from adagrain.models.statistics.reference import reference_sums


def any_numbers(seed: int, count: int = 20_000) -> torch.Tensor:
    """FP32 of any finite bit pattern."""
    words = np.random.default_rng(seed).integers(0, 1 << 32, count, dtype=np.uint32)
    words[:4] = 0, 1 << 31, 0x7F7FFFFF, 0xFF7FFFFF
    x = torch.from_numpy(words.view(np.float32))
    return torch.where(x.isfinite(), x, 0.0)


def test_half_binades_are_the_bins_of_statistics(seed: int) -> None:
    x = any_numbers(seed)
    x[7:9] = torch.tensor([torch.inf, torch.nan])
    sums = reference_sums(x, FORMATS[FormatCode.FP32], 127, 2, True)
    first, second = half_binades(x, (1, len(x) - 1))
    counts = first + second
    counts[0] -= int((x == 0).sum())
    assert counts[:510].tolist() == sums["raw_bins"][:510, 0].tolist()
    assert counts[510] == 1 and counts[511] == 1 and first.sum() == 1
    assert half_binade_sums(x, (1, len(x) - 1)).sum(axis=0).tolist() == sums["raw_bins"].tolist()


@pytest.mark.parametrize("bits", range(8))
def test_what_is_left_of_rounded_elements_is_exact(bits: int, seed: int) -> None:
    x = any_numbers(seed)
    found = rounded(x, bits)
    assert found.isfinite().all()
    assert not ((found == 0) & found.signbit()).any()
    assert not (found.view(torch.int16) & (1 << 7 - bits) - 1).any()
    left = x - found
    assert torch.equal(left.double() + found.double(), x.double())
    scale = torch.maximum(found.double().abs(), torch.tensor(2.0**-126))
    assert (left.double().abs() <= scale * 2.0**-bits).all()


def test_elements_of_any_exponent_are_rounded_to_nearest_even(seed: int) -> None:
    x = any_numbers(seed)
    x[4:7] = torch.tensor([0x3F808000, 0x3F818000, 0x00008000], dtype=torch.int32).view(x.dtype)
    x[x.abs() > 3e38] = 0.0
    wanted = x.bfloat16()
    wanted[wanted == 0] = 0.0
    assert rounded(x).view(torch.int16).equal(wanted.view(torch.int16))


@pytest.mark.parametrize("bits", range(8))
def test_fewer_bits_are_those_of_the_codec(bits: int, seed: int) -> None:
    """Of all BF16 numbers, the largest and subnormal ones among them, and of others."""
    words = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int32).to(torch.int16)
    finite = words.view(torch.bfloat16)[words & 0x7F80 != 0x7F80].float()
    for x in (finite, any_numbers(seed)):
        wanted = with_mantissa_bits(x.bfloat16(), bits)
        most = (2.0 - 2.0**-bits) * 2.0**127
        wanted = torch.where(wanted.isinf(), x.sign().mul(most).bfloat16(), wanted).add(0.0)
        small = x.abs() < 1e38  # the largest ones are not rounded in a compiled pass
        for own, theirs in ((x, wanted), (x[small], wanted[small])):
            assert rounded(own, bits).view(torch.int16).equal(theirs.view(torch.int16))


@pytest.mark.parametrize("bits", range(8))
def test_what_a_compiled_pass_rounds_stays_finite(bits: int) -> None:
    drop = 7 - bits
    most = torch.tensor([least_special(drop) - 1, 0], dtype=torch.int32)
    found = torch.empty(2, dtype=torch.int16)
    assert round_words(most.numpy(), drop, found.numpy()) == least_special(drop) - 1
    assert found.view(torch.bfloat16).isfinite().all()
    most += 2  # a tie may still go down
    round_words(most.numpy(), drop, found.numpy())
    assert not found.view(torch.bfloat16)[0].isfinite()


@pytest.mark.parametrize("count", [1, 4096, 9001])
def test_compiled_passes_do_what_torch_does(count: int, seed: int) -> None:
    x = any_numbers(seed)[:count].clone()
    sent = rounded(x)
    found = subtracted(x, sent, torch.full_like(x, 9.0))
    assert found.view(torch.int32).equal((x - sent.float()).view(torch.int32))
    for words in (sent, torch.tensor([torch.inf, torch.nan, -0.0, 1e-40]).bfloat16()):
        average = averaged(words, 3, torch.empty(len(words)))
        assert average.isnan().equal(words.isnan())
        assert average.nan_to_num(7).equal(words.float().mul_(1 / 3).nan_to_num(7))
    assert is_finite(x)
    for value in (torch.inf, -torch.inf, torch.nan):
        x[-1] = value
        assert not is_finite(x)


@pytest.mark.parametrize("count", [1, 4096, 9001])
def test_sums_are_rounded_as_if_alone(count: int, seed: int) -> None:
    x = any_numbers(seed)[:count].clone()
    y = any_numbers(seed + 1)[:count].clone()
    x[x.abs() > 1e38], y[y.abs() > 1e38] = 0.0, 0.0
    for large in (1e-3, 3.4e38, torch.nan, torch.inf):
        x[-1] = large
        total, sent = rounded_sum(x, y)
        wanted = x + y
        assert total.isnan().equal(wanted.isnan())
        assert total.nan_to_num(7).equal(wanted.nan_to_num(7))
        assert sent.view(torch.int16).equal(rounded(wanted).view(torch.int16))


@pytest.mark.parametrize("bits", [2, 7])
def test_what_is_kept_or_not_finite_is_rounded_all_else_is_nothing(bits: int, seed: int) -> None:
    x = any_numbers(seed)[:9001].clone()
    x[x.abs() > 1e38] = 1.0
    keep = torch.rand(9001, generator=torch.Generator().manual_seed(seed)) < 0.3
    for value in (-1.5, 3.4e38, torch.inf, torch.nan):
        x[3], keep[3] = value, False
        wanted = rounded(torch.where(keep | x.isfinite().logical_not(), x, 0.0), bits)
        found = rounded_where(keep, x, bits)
        assert found.isnan().equal(wanted.isnan())
        assert found.nan_to_num(7).view(torch.int16).equal(wanted.nan_to_num(7).view(torch.int16))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_frames_are_added_in_fp32(workers: int, seed: int) -> None:
    sent = [rounded(any_numbers(seed + rank)[:9001]) for rank in range(workers)]
    sent[0][5] = torch.inf
    total = sent[0].float()
    for own in sent[1:]:
        total += own.float()
    wanted = total.mul_(1 / workers)
    found = average_of_frames(sent, workers, 9001)
    assert found.nan_to_num(7).view(torch.int32).equal(wanted.nan_to_num(7).view(torch.int32))
    out = torch.ones(9001)
    assert added(sent[0], workers, out).equal((sent[0].float() + 1).mul_(1 / workers))


@pytest.mark.parametrize(
    ("bits", "most"), [(0, 32768.0), (1, 49152.0), (2, 57344.0), (3, 61440.0), (7, 61440.0)]
)
def test_what_goes_to_fp16_is_at_most_a_number_of_its_range(bits: int, most: float) -> None:
    """What goes elsewhere, or is not finite, stays."""
    x = torch.tensor([70000.0, -1e38, 65024.0, most, -most, 1.0, torch.inf, -torch.inf, torch.nan])
    sent = torch.cat([x, x]).bfloat16()
    found = bounded(sent, [torch.empty(9).half(), torch.empty(3, 3)], bits)
    wanted = [most, -most, most, most, -most, 1.0, torch.inf, -torch.inf]
    assert found.dtype == torch.bfloat16
    assert found[:8].tolist() == wanted and found[8].isnan()
    assert same_bits(found[9:], sent[9:])
    assert bounded(sent, [torch.empty(18)], bits) is sent


def test_frames_may_be_the_same_tensor() -> None:
    a, b = torch.tensor([3.0]).bfloat16(), torch.tensor([6.0]).bfloat16()
    assert average_of_frames([a, b, b], 3, 1).item() == 5.0


def test_one_bit_is_a_difference() -> None:
    one = torch.zeros(9001).bfloat16()
    assert same_bits(one, one.clone())
    for place in (0, 4095, 4096, 9000):
        other = one.clone()
        other[place] = -0.0
        assert not same_bits(one, other) and not same_bits(other, one)


def test_magnitudes_that_reach_a_bound(seed: int) -> None:
    x = any_numbers(seed)
    x[4:6] = torch.tensor([-torch.inf, torch.nan])
    for bound in (0.0, 1e-40, x[9].abs().item(), 3.4e38):
        assert reaching(x, bound).equal((x.abs() < bound).logical_not_())


def test_what_is_not_finite_stays_so() -> None:
    x = torch.tensor([torch.nan, torch.inf, -torch.inf, 3.4e38])
    assert rounded(x).isfinite().tolist() == [False, False, False, True]
    found = rounded(x, 3)
    assert found[0].isnan() and found[1:3].tolist() == [torch.inf, -torch.inf]
    assert found[3] == 1.875 * 2.0**127
