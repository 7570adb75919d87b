"""Largest magnitudes, against those of all elements."""

import itertools

import pytest
import torch

from adagrain.models.numerics.half_binades import words_of
from adagrain.models.numerics.magnitude import absmax, array_of, runs

SHAPE = (3, 4, 5, 2)
ALONG = [d for n in range(1, 5) for d in itertools.combinations(range(4), n)]


@pytest.mark.parametrize("along", ALONG, ids=str)
def test_it_is_found_along_any_dimensions(along: tuple[int, ...]) -> None:
    x = torch.randn(SHAPE, generator=torch.Generator().manual_seed(1))
    assert torch.equal(absmax(x, along), x.abs().amax(dim=along, keepdim=True))
    laid = x.permute(2, 0, 3, 1)
    assert torch.equal(absmax(laid, along), laid.abs().amax(dim=along, keepdim=True))


def test_without_dimensions_it_is_that_of_all_elements() -> None:
    x = torch.tensor([[1.0, -3.0], [-0.0, 2.5]])
    assert absmax(x).tolist() == [[3.0]]
    assert absmax(torch.zeros(5)).tolist() == [0.0]


@pytest.mark.parametrize("along", [None, (0,), (1,)])
def test_what_is_not_a_number_is_larger_than_infinity(along: tuple[int, ...] | None) -> None:
    x = torch.tensor([[torch.nan, -torch.inf], [-torch.nan, torch.inf]])
    found = absmax(x, along)
    assert torch.equal(found.isnan(), x.isnan().amax(dim=along or (0, 1), keepdim=True))
    assert (found.isnan() | found.isinf()).all()


def test_the_sign_of_a_view_is_seen() -> None:
    x = torch.tensor([1.5, -3.0, 0.0])
    view = torch._neg_view(x)
    for read in (array_of, words_of):
        assert read(view).tobytes() == read(-x).tobytes()


def test_runs_are_dimensions_that_follow_each_other() -> None:
    first, last = runs(SHAPE, (0, 2, 3))
    assert first == (12, 10, 1, (3, 4, 1, 1))
    assert last == (1, 3, 4, (1, 4, 1, 1))
    assert runs(SHAPE, None) == [(1, 120, 1, (1, 1, 1, 1))]
