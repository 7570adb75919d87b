"""Energies of several tensors in one call, against what their statistics have."""

import math
import random

import pytest
import torch
from any_tensors import chunked, tensor_of, threads

from adagrain.models.statistics import Batch, Energy, energies_of_elements, statistics
from adagrain.models.statistics.kernel import BLOCK

__all__ = ["threads"]


def wanted(tensors: list[torch.Tensor], exponents: list[int]) -> list[Energy]:
    rows = zip(tensors, exponents, strict=True)
    return [Energy.of(statistics(x, e, powers=2, kernel="reference")) for x, e in rows]


@pytest.mark.parametrize("kernel", ["fused", "reference"])
def test_they_are_those_of_their_statistics(kernel: str, seed: int) -> None:
    generator = random.Random(seed)
    tensors = [tensor_of(generator, generator.randrange(2, 5000)).reshape(-1) for _ in range(40)]
    exponents = [generator.choice([-126, 127, generator.randrange(-20, 20)]) for _ in tensors]
    batch = Batch(x.contiguous() for x in tensors)
    assert energies_of_elements(batch, exponents, kernel=kernel) == wanted(tensors, exponents)


def test_over_threads_and_chunks(threads: int) -> None:
    tensors, exponents = chunked(seed=threads)
    batch = Batch(tensors)
    for _ in range(2):
        assert energies_of_elements(batch, exponents) == wanted(tensors, exponents)
        tensors[6].mul_(-3)  # what lies there now is what counts


@pytest.mark.parametrize("value", [32767.0, 32767.49, 32767.5, 32768.0, 9e9, math.inf, math.nan])
@pytest.mark.parametrize("at", [0, BLOCK - 1, BLOCK, BLOCK + 8])
def test_a_block_with_an_element_at_the_limit(value: float, at: int) -> None:
    x = torch.full((BLOCK + 9,), 0.5)
    x[at] = -value / 2**14
    assert energies_of_elements(Batch([x]), [0]) == wanted([x], [0])


@pytest.mark.parametrize("flushes", [False, True])
@pytest.mark.parametrize("exponent", [-126, -112, -111, -110, 0])
def test_subnormals(exponent: int, flushes: bool) -> None:
    """They count as what they are, also where the processor is set to flush them to 0."""
    x = (
        torch.arange(-40, 41, dtype=torch.int32)
        .bitwise_and(0x807FFFFF - (1 << 32))
        .view(torch.float32)
    )
    expected = wanted([x], [exponent])
    torch.set_flush_denormal(flushes)
    try:
        found = energies_of_elements(Batch([x]), [exponent])
    finally:
        torch.set_flush_denormal(False)
    assert found == expected


@pytest.mark.parametrize(
    ("values", "zero"),
    [([0.0, -0.0], 1), ([0.0, 1e-45], 0), ([math.nan, 0.0], 0), ([-math.inf], 0)],
)
def test_what_is_zero(values: list[float], zero: int) -> None:
    (found,) = energies_of_elements(Batch([torch.tensor(values)]), [0])
    assert found.zero == zero


def test_none_at_all() -> None:
    assert energies_of_elements(Batch([]), []) == []


@pytest.mark.parametrize(
    ("changed", "valid"), [({}, True), ({"saturated": 1}, False), ({"non_finite": 2}, False)]
)
def test_which_are_valid(changed: dict[str, int], valid: bool) -> None:
    energy = Energy(s2=9, non_finite=0, saturated=0, largest_exponent=127, zero=0)
    assert energy._replace(**changed).valid == valid
