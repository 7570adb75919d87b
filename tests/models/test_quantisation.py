"""Numbers of a precision: scales, rounding, products, and what is refused."""

import re
from fractions import Fraction

import numpy as np
import pytest
import torch

from adagrain.models.interface.precision import LEVELS, Precision
from adagrain.models.numerics.matmul import matmul, reference
from adagrain.models.numerics.quantisation import operand, product, rounded, scale_of
from adagrain.models.numerics.stochastic_rounding import stochastically_rounded

INTEGERS = (Precision.INT8, Precision.INT4)


def tensor(seed: int, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator)


def integers(
    x: torch.Tensor, precision: Precision, along: tuple[int, ...] | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    found = operand(x, precision, along=along)
    return found.numbers, found.scale


def nearest_even(x: float, scale: float, top: int) -> int:
    return max(-top, min(top, round(Fraction(x) / Fraction(scale))))


@pytest.mark.parametrize("along", [None, (0,), (1,)], ids=str)
@pytest.mark.parametrize("precision", INTEGERS, ids=lambda p: p.name)
def test_integers_are_nearest(precision: Precision, along: tuple[int, ...] | None) -> None:
    x = tensor(1, 6, 9) * torch.tensor([[1.0], [3.5], [2.0**-20], [2.0**30], [0.0], [1e-30]])
    x[0, :4] = torch.tensor([0.5, 1.5, 2.5, -3.5])
    numbers, scale = integers(x, precision, along)
    assert scale.shape == {None: (1, 1), (0,): (1, 9), (1,): (6, 1)}[along]
    for element, found, unit in zip(
        x.flatten(), numbers.flatten(), scale.expand(6, 9).flatten(), strict=True
    ):
        assert found == nearest_even(element.item(), unit.item(), LEVELS[precision])


@pytest.mark.parametrize(
    ("largest", "scale"),
    [
        (127.0, 1.0),
        (127.0001, 2.0),
        (127.45, 2.0),
        (128.0, 2.0),
        (63.5, 0.5),
        (64.0, 1.0),
        (1.0, 2.0**-6),
    ],
)
def test_the_scale_of_int8_is_the_smallest_with_nothing_above_127(
    largest: float, scale: float
) -> None:
    assert scale_of(torch.tensor([[-largest, 0.25]]), Precision.INT8).item() == scale


def test_the_scale_of_int4_gives_up_outliers() -> None:
    even = torch.full((1, 64), 7.0)
    assert scale_of(even, Precision.INT4).item() == 1.0  # nothing is above 7
    x = tensor(2, 1, 4096)
    x[0, 0] = 1000.0
    numbers, scale = integers(x, Precision.INT4)
    assert numbers[0, 0] == 7
    deviation = x.square().mean().sqrt().item()
    assert 2**-0.5 <= scale.item() / (0.335 * deviation) <= 2**0.5


@pytest.mark.parametrize("precision", INTEGERS, ids=lambda p: p.name)
def test_rows_and_columns_are_rounded_each_by_itself(precision: Precision) -> None:
    x = tensor(11, 8, 300) * torch.arange(1, 9)[:, None] ** 2
    alone = [integers(row, precision) for row in x]
    wanted = [torch.stack(part) for part in zip(*alone, strict=True)]
    wanted[1] = wanted[1].view(8, 1)
    assert all(map(torch.equal, integers(x, precision, (1,)), wanted))
    assert all(map(torch.equal, integers(x.t(), precision, (0,)), (part.t() for part in wanted)))


@pytest.mark.parametrize("precision", INTEGERS, ids=lambda p: p.name)
def test_integers_follow_powers_of_two(precision: Precision) -> None:
    x = tensor(3, 5, 40)
    numbers, scale = integers(x, precision)
    for power in (-30, 1, 25):
        shifted, other = integers(x * 2.0**power, precision)
        assert torch.equal(shifted, numbers)
        assert other == scale * 2.0**power


def test_zeros_stay_zeros() -> None:
    numbers, scale = integers(torch.zeros(2, 2), Precision.INT8)
    assert not numbers.any()
    assert scale > 0


@pytest.mark.parametrize("precision", INTEGERS, ids=lambda p: p.name)
@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf"), 2.0**60])
def test_integers_refuse_what_they_cannot_stand_for(precision: Precision, wrong: float) -> None:
    x = torch.ones(2, 3)
    x[1, 1] = wrong
    message = rf"x must be finite and below 1.15292e\+18 for {precision.name}: 1 of 6 elements"
    with pytest.raises(ValueError, match=message):
        product(x, torch.ones(4, 3), precision)
    with pytest.raises(ValueError, match="weight must be finite"):
        product(torch.ones(4, 3), x, precision)


def test_shapes_must_match() -> None:
    with pytest.raises(ValueError, match="weight must have 3 columns, not 4"):
        product(torch.ones(2, 3), torch.ones(5, 4), Precision.INT8)


@pytest.mark.parametrize("shape", [(3, 5, 4), (2, 1041, 3), (1, 1, 1)], ids=str)
@pytest.mark.parametrize("precision", Precision, ids=lambda p: p.name)
def test_products_are_those_of_the_golden_sums(
    precision: Precision, shape: tuple[int, int, int]
) -> None:
    m, k, n = shape
    x, weight = tensor(4, m, k) * 3, tensor(5, n, k)
    if precision.integer:
        x[:, 0], weight[:, 0] = 1000.0, 500.0  # sums beyond 2**24
        (a, one), (b, each) = (integers(x, precision), integers(weight, precision, (1,)))
        sums, _ = reference(a.to(torch.int8), b.t().to(torch.int8), precision)
        wanted = (sums.float().double() * (one * each.t()).double()).float()
    elif precision is Precision.FP16:
        wanted = reference(x.half(), weight.t().half(), precision)[0].float()
    else:
        wanted = reference(x, weight.t(), precision)[0]
    assert torch.equal(product(x, weight, precision), wanted)


def test_long_sums_of_integers_are_rounded_once() -> None:
    """Beyond 2**24 each odd one counts, and is 0 or 1 off after single precision."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(100, 128, (8, 3001), generator=generator).float()
    weight = torch.randint(100, 128, (5, 3001), generator=generator).float()
    x[:, 0], weight[:, 0] = 127.0, 127.0
    sums = x.long() @ weight.t().long()
    assert (sums > 1 << 24).all() and (sums % 2).any()
    assert torch.equal(product(x, weight, Precision.INT8), sums.float())
    assert not torch.equal(x @ weight.t(), sums.float())


def test_fp16_is_rounded_once() -> None:
    # float64.half() would round this twice; from float32 there is one rounding.
    x = torch.tensor([[1 + 2**-11, 1 + 2**-11 + 2**-23, 65520.0, 2.0**-25]])
    wanted = [[1.0, 1 + 2**-10, float("inf"), 0.0]]
    assert rounded(x, Precision.FP16).tolist() == wanted


@pytest.mark.parametrize("precision", INTEGERS, ids=lambda p: p.name)
def test_stochastic_rounding_is_right_on_average_and_always_the_same(precision: Precision) -> None:
    x = tensor(6, 64, 4096) * 1e-3
    found = stochastically_rounded(x, precision, along=(1,))
    assert torch.equal(found, stochastically_rounded(x.clone(), precision, along=(1,)))
    assert torch.equal(found, stochastically_rounded(x.t().contiguous().t(), precision, along=(1,)))
    scale, top = scale_of(x, precision, along=(1,)), LEVELS[precision]
    error = (found - x.clamp(-top * scale, top * scale)) / scale
    assert error.abs().max() < 1
    assert abs(error.mean().item()) < 3 / np.sqrt(x.numel())
    small = x.abs() < scale / 2  # to nearest, all of these would be lost
    assert found[small].any()
    assert not stochastically_rounded(torch.zeros(2, 3), precision).any()
    for power in (1, -3, 40):
        assert torch.equal(
            stochastically_rounded(x * 2.0**power, precision, along=(1,)), found * 2.0**power
        )


@pytest.mark.parametrize("precision", INTEGERS, ids=lambda p: p.name)
def test_dimensions_are_those_of_the_tensor(precision: Precision) -> None:
    x = tensor(1, 3, 4)
    for call in (scale_of, rounded, stochastically_rounded):
        assert call(torch.zeros(0, 4), precision).shape[1] in (1, 4)
        with pytest.raises(ValueError, match="x must have one dimension or more, not none"):
            call(torch.tensor(1.5), precision)
        for along in ((-1,), (2,), (1, 0), (0, 0)):
            message = r"along must be dimensions of x, from 0 to 1, ascending, not \(-?\d,"
            with pytest.raises(ValueError, match=message):
                call(x, precision, along=along)
        for along in ((), [0], 0, (True,), (0.0,)):
            message = f"along must be None or a tuple of one int or more, not {along!r}"
            with pytest.raises(ValueError, match=re.escape(message)):
                call(x, precision, along=along)


@pytest.mark.parametrize("size", ["narrow", "split", "wide"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_sums_of_fp16_are_rounded_once(sign: float, size: str) -> None:
    """Halves between two numbers, and a last place beyond or below them."""
    unit = 1.0 if size == "narrow" else 64.0
    significands = torch.arange(1024, 2048) / 1024 * unit
    halves = torch.full_like(significands, unit / 2048)
    lasts = torch.tensor([2.0**-24, 0.0, -(2.0**-24), 0.0]).repeat(256)
    columns = [significands, halves, lasts]
    ends = [1.0, 1.0, 2.0**-24]
    if size == "wide":
        columns += [torch.full_like(halves, 30000.0), torch.full_like(halves, -30000.0)]
        ends += [30000.0, 30000.0]
    a, b = torch.stack(columns, dim=1).half() * sign, torch.tensor(ends).half()[:, None]
    assert torch.equal(matmul(a, b, Precision.FP16), reference(a, b, Precision.FP16)[0])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_operands_too_wide_for_double_precision_are_split(sign: float) -> None:
    """A half between two numbers of FP16, and 2**-48, in a sum that doubles hold to 2**-46."""
    a = [1.75 * 2.0**-13] * 14 + [2.0**-13, 2.0**-24]
    b = [1.75 * 2.0**14] * 14 + [2.0**8, 2.0**-24 * sign]
    rows, columns = torch.tensor([a]).half(), torch.tensor([b]).half().t()
    assert (rows.double() @ columns.double()).item() == 85.78125
    wanted = 85.8125 if sign > 0 else 85.75
    assert matmul(rows, columns, Precision.FP16).item() == wanted
