"""Statistics of several tensors in one call, against those of each alone."""

import random
from collections.abc import Callable

import numpy as np
import pytest
import torch
from any_tensors import chunked, tensor_of, threads

from adagrain.models.difference import difference
from adagrain.models.statistics import statistics, statistics_of
from adagrain.models.statistics.batch import CHUNK

__all__ = ["threads"]


@pytest.mark.parametrize("powers", [2, 4])
@pytest.mark.parametrize("kernel", ["fused", "reference"])
def test_they_are_those_of_each(kernel: str, powers: int, seed: int) -> None:
    generator = random.Random(seed)
    tensors = [tensor_of(generator, generator.randrange(2, 5000)) for _ in range(40)]
    exponents = [generator.choice([-126, 127, generator.randrange(-20, 20)]) for _ in tensors]
    found = statistics_of(tensors, exponents, powers=powers, kernel=kernel)
    rows = zip(tensors, exponents, strict=True)
    assert found == [statistics(x, e, powers=powers, kernel="reference") for x, e in rows]


def test_they_are_those_of_each_over_threads_and_chunks(threads: int) -> None:
    tensors, exponents = chunked(seed=threads)
    found = statistics_of(tensors, exponents)
    rows = zip(tensors, exponents, strict=True)
    assert found == [statistics(x, e, kernel="reference") for x, e in rows]


def test_the_largest_sums_are_exact(threads: int) -> None:
    """All elements clamped, as many as int64 holds the sums of, and twice."""
    x = torch.full((2 * CHUNK,), -9.0)
    assert statistics_of([x, x], [0, 0]) == [statistics(x, 0, kernel="reference")] * 2
    assert statistics_of([x], [0])[0].s4 == 2 * CHUNK * 32767**4


@pytest.mark.parametrize("kernel", ["fused", "reference"])
def test_the_sign_of_a_view_is_seen(kernel: str) -> None:
    x = torch.randn(50)
    assert statistics_of([torch._neg_view(x)], [0], kernel=kernel) == statistics_of([-x], [0])


@pytest.mark.parametrize("kernel", ["fused", "reference"])
@pytest.mark.parametrize("kind", [np.int8, np.int16, np.uint8, torch.tensor])
def test_exponents_may_be_integers_of_any_kind(kind: Callable, kernel: str) -> None:
    x = torch.tensor([1.0, -2.5])
    wanted = statistics(x, 1, kernel="reference")
    assert statistics(x, kind(1), kernel=kernel) == wanted
    assert statistics_of([x], [kind(1)], kernel=kernel) == [wanted]
    assert difference(x, x, kind(1), kernel=kernel) == difference(x, x, 1, kernel="reference")


def test_none_at_all() -> None:
    assert statistics_of([], []) == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"tensors": [torch.ones(2)] * 2}, ValueError, "as many as the 2 tensors, not 1"),
        ({"tensors": [torch.ones(0)]}, ValueError, "at least one element, not 0"),
        ({"tensors": [torch.ones(1).double()]}, TypeError, "dtype must be one of .* not torch"),
        ({"exponents": [128]}, ValueError, "exponent must be from -126 to 127, not 128"),
        ({"exponents": [None]}, TypeError, "exponent must be an integer, not None"),
        ({"powers": 3}, ValueError, "powers must be 2 or 4, not 3"),
        ({"kernel": "fast"}, ValueError, "kernel must be one of fused, reference, not 'fast'"),
    ],
)
def test_bad_arguments(arguments: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        statistics_of(**{"tensors": [torch.ones(2)], "exponents": [0], **arguments})
