"""Masks of the compressed exchange that need no training, each against plain arithmetic."""

import pytest
import torch
from layouts import layout_of

from adagrain.host.compression.random_k import RandomK
from adagrain.host.compression.threshold import HardThreshold, threshold_for
from adagrain.host.compression.top import Top
from adagrain.models.numerics.half_binades import half_binades


@pytest.mark.parametrize("density", [0.5, 0.1, 0.01, 0.001])
def test_thresholds_have_the_density_that_is_wanted(density: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(1_000_000, generator=generator)
    for values in (x, x**3, 1e-30 * x.exp()):
        threshold = threshold_for(half_binades(values, [len(x)])[0], density)
        found = float((values.abs() >= threshold).float().mean())
        assert found == pytest.approx(density, rel=0.15 + 5 / (density * len(x)) ** 0.5)


def test_thresholds_at_the_ends() -> None:
    x = torch.tensor([0.0, 1.0, torch.nan, torch.inf])
    assert threshold_for(half_binades(x, [4])[0], 1.0) == 0.0
    assert 1.0 < threshold_for(half_binades(x, [4])[0], 0.1) < torch.inf
    assert threshold_for(half_binades(torch.zeros(9), [9])[0], 0.5) >= 0.0


@pytest.mark.parametrize(
    ("elements", "density", "usual"),
    [(40, 0.01, 262), (400, 1e-3, 1133), (9, 1e-6, 189), (1, 0.01, 200)],
)
def test_a_part_of_less_than_one_element_is_sent_in_time(
    elements: int, density: float, usual: int
) -> None:
    """Of what is left and added to the next, something is, sooner or later.

    What is usual is the mean of 1000 draws. That of 20 has a standard error of up to 6 %, but these
    are always the same: 10 % above is for machines that round otherwise.
    """
    generator, layout = torch.Generator().manual_seed(20), layout_of(elements)
    found = []
    for _ in range(20):
        mask, waiting = HardThreshold(), torch.zeros(elements)
        gradient, sent = torch.rand(elements, generator=generator) + 0.1, 0
        for _ in range(200):
            waiting += gradient
            keep = mask.keep(waiting, layout, density)
            mask.end_pass(density)
            sent += int(keep.sum())
            waiting[keep] = 0
        found.append(sent)
    assert min(found) > 0 and sum(found) / len(found) <= 1.1 * usual


def test_the_threshold_is_that_of_this_pass_or_the_one_before() -> None:
    layout = layout_of(1000)
    x = torch.randn(1000, generator=torch.Generator().manual_seed(1))
    for lagging, late in ((False, 100), (True, 870)):
        mask = HardThreshold(lagging=lagging)
        for scale, count in ((1, 100), (10, late), (10, 100)):
            assert mask.keep(scale * x, layout, 0.1).sum() == pytest.approx(count, abs=15)
            mask.end_pass(0.1)
        assert mask.keep(torch.full((1000,), torch.nan), layout, 0.1).all()


@pytest.mark.parametrize("lagging", [False, True])
def test_a_threshold_counts_what_is_not_exchanged_now(lagging: bool) -> None:
    mask, large, small = HardThreshold(lagging=lagging), layout_of(1000), layout_of(1000, first=1)
    x = torch.randn(1000, generator=torch.Generator().manual_seed(1))
    for _ in range(2):
        mask.keep(x, large, 0.1)
        mask.keep(1e-6 * x, small, 0.1)
        mask.end_pass(0.1)
    assert mask.keep(x, large, 0.1).sum() == pytest.approx(200, abs=30)


def test_behind_a_pass_that_masked_nothing_there_is_no_threshold() -> None:
    mask, layout = HardThreshold(lagging=True), layout_of(1000)
    mask.keep(torch.ones(1000), layout, 0.1)
    mask.end_pass(0.1)
    assert mask.threshold
    mask.end_pass(0.1)
    assert mask.threshold is None


def test_top_sends_the_largest() -> None:
    layout = layout_of(40, 200)
    x = torch.randn(240, generator=torch.Generator().manual_seed(2))
    kept = Top(by_share=False).keep(x, layout, 0.05)
    assert kept.sum() == 12 and x[kept].abs().min() >= x[~kept].abs().max()
    kept = Top(by_share=True).keep(x, layout, 0.05)
    assert [part.sum() for part in layout.parts(kept)] == [2, 10]


def test_random_masks_do_not_depend_on_buckets() -> None:
    whole, parts = layout_of(40, 200), (layout_of(40), layout_of(200, first=1))
    x = torch.zeros(240)
    masks = [RandomK(3, 1) for _ in range(2)]
    for _ in range(2):
        one = masks[0].keep(x, whole, 0.3)
        two = [masks[1].keep(torch.zeros(part.elements), part, 0.3) for part in parts]
        assert torch.equal(one, torch.cat(two)) and one.any()
        for mask in masks:
            mask.end_pass(0.3)
    assert not torch.equal(one, RandomK(3, 0).keep(x, whole, 0.3))
    assert not torch.equal(one, RandomK(3, 1).keep(x, whole, 0.3))
