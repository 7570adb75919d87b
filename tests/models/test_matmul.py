"""Matrix products of whole tensors against the golden sums, element by element."""

import math

import numpy as np
import pytest
import torch

from adagrain.models.interface.precision import Precision
from adagrain.models.numerics.matmul import matmul, reference
from adagrain.models.numerics.matrices import DTYPES

SHAPES = [(1, 1, 1), (3, 5, 4), (9, 33, 7), (2, 200, 3)]


def operand(shape: tuple[int, int], precision: Precision, seed: int, kind: str) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    if precision.integer:
        reach = 1 << (precision.bits - 1)
        low = reach - 1 if kind == "extreme" else -reach
        return torch.from_numpy(rng.integers(low, reach, shape)).to(torch.int8)
    if kind == "any":
        bits = rng.integers(0, 1 << precision.bits, shape).astype(f"u{precision.bits // 8}")
        return torch.from_numpy(bits.view(f"f{precision.bits // 8}"))
    values = rng.standard_normal(shape) * (2.0 ** rng.integers(-20, 4, shape) if seed % 2 else 1)
    return torch.from_numpy(values * (30000 if kind == "extreme" else 1)).to(DTYPES[precision])


@pytest.mark.parametrize("kind", ["normal", "extreme", "any"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("precision", Precision, ids=lambda p: p.name)
def test_fast_equals_reference(
    precision: Precision, shape: tuple[int, int, int], kind: str
) -> None:
    m, k, n = shape
    for seed in range(4):
        a = operand((m, k), precision, 2 * seed, kind)
        b = operand((k, n), precision, 2 * seed + seed % 2, kind)
        found, (wanted, _) = matmul(a, b, precision), reference(a, b, precision)
        assert found.dtype == wanted.dtype
        view = {4: torch.int32, 2: torch.int16}[found.element_size()]
        assert torch.equal(found.view(view), wanted.view(view)), f"seed {seed}"


@pytest.mark.parametrize("last", [1.0, 32768.0])
def test_fp16_is_infinite_however_far_its_sum_is_beyond(last: float) -> None:
    a, b = torch.full((1, 4096), 32768.0).half(), torch.full((4096, 1), -32768.0).half()
    a[0, -1] = last
    assert matmul(a, b, Precision.FP16).item() == -math.inf


def test_integers_wrap_around() -> None:
    a = torch.full((1, 140_000), -128, dtype=torch.int8)
    assert matmul(a, a.t(), Precision.INT8).item() == 140_000 * 16384 - (1 << 32)


@pytest.mark.parametrize(
    ("a", "b", "precision", "error", "message"),
    [
        (torch.ones(2, 3), torch.ones(3, 2), Precision.INT8, TypeError,
         "a must be of torch.int8 for INT8, not torch.float32"),
        (torch.ones(2, 3), torch.ones(4, 2), Precision.FP32, ValueError,
         "b must have 3 rows, as many as a has columns, not 4"),
        (torch.ones(2), torch.ones(4, 2), Precision.FP32, ValueError,
         r"a must be a matrix, not of shape \(2,\)"),
        (torch.full((1, 1), 9, dtype=torch.int8), torch.ones(1, 1, dtype=torch.int8),
         Precision.INT4, ValueError, "a must be from -8 to 7 for INT4, not 9 to 9"),
        (torch.ones(1, 16385).half(), torch.ones(16385, 1).half(), Precision.FP16, ValueError,
         "a sum of FP16 must have at most 16384 terms, not 16385"),
    ],
)  # fmt: skip
def test_operands_that_do_not_fit(
    a: torch.Tensor, b: torch.Tensor, precision: Precision, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        matmul(a, b, precision)


@pytest.mark.parametrize("rows", [1, 50], ids=["few rows", "many rows"])
@pytest.mark.parametrize("tiny", [0.0, 2.0**-24, -(2.0**-24)])
def test_fp16_sums_of_very_different_terms_are_exact(rows: int, tiny: float) -> None:
    """1024.5, a tie, and the smallest product there is, whichever operand is the larger one."""
    a = torch.tensor([[2.0**15, 2.0**4, tiny]]).half()
    b = torch.tensor([[2.0**-5], [2.0**-5], [2.0**-24]]).half()
    wanted = 1025.0 if tiny > 0 else 1024.0
    found = matmul(a.expand(rows, 3), b.expand(3, 7), Precision.FP16)
    assert (found == wanted).all()
    found = matmul(b.t().expand(rows, 3), a.t().expand(3, 7), Precision.FP16)
    assert (found == wanted).all()
    assert reference(a, b, Precision.FP16)[0].item() == wanted


def test_long_fp16_sums_of_very_different_terms_are_exact() -> None:
    """Terms that cancel far from each other leave the smallest number there is."""
    a = torch.zeros(1, 12_000).half()
    a[0, [0, 5_000, 11_999]] = torch.tensor([2.0**15, 2.0**-12, -(2.0**15)]).half()
    b = torch.full((12_000, 2), 2.0**-12).half()
    b[[0, 11_999]] = 2.0**15
    assert (matmul(a, b, Precision.FP16) == 2.0**-24).all()


@pytest.mark.parametrize("precision", Precision, ids=lambda p: p.name)
def test_small_whole_numbers_multiply_as_in_numpy(precision: Precision) -> None:
    """Their sums are exact in every precision."""
    rng = np.random.default_rng(4)
    a, b = rng.integers(-7, 8, (3, 40)), rng.integers(-7, 8, (40, 5))
    tensors = [torch.from_numpy(side).to(DTYPES[precision]) for side in (a, b)]
    golden, flags = reference(*tensors, precision)
    for product in (matmul(*tensors, precision), golden):
        assert product.double().tolist() == (a @ b).tolist()
    assert not flags.any()
