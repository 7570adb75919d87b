"""The plan of buckets, from a link's figures and the times at which gradients are ready."""

import random
from itertools import combinations, pairwise

import pytest
from torch import nn

import adagrain
from adagrain.host.speculation.buckets import divided
from adagrain.host.speculation.link import Link
from adagrain.host.speculation.plan import end_of, planned

#: 100 Mbit/s and 5 ms one way; 8 bytes take a microsecond less than that of their bits.
LINK = Link(latency=0.02, seconds_per_byte=8.5e-8, turns=4)


@pytest.mark.parametrize(
    ("counts", "sizes", "ready", "wanted"),
    [  # as two workers have measured on such a link: 45.5, 56.3, 66.5 ms
        ([1], [295_000], [0.0], 0.0455),
        ([1, 1], [301_000, 75_000], [0.0, 0.02], 0.0563),
        ([1, 1, 1], [6_000, 295_000, 75_000], [0.0, 0.0, 0.02], 0.0665),
    ],
)
def test_ends_are_those_that_were_measured(
    counts: list[int], sizes: list[int], ready: list[float], wanted: float
) -> None:
    assert end_of(counts, sizes, ready, LINK) == pytest.approx(wanted, rel=0.06)


def test_a_bucket_departs_when_its_last_region_is_ready() -> None:
    link = Link(latency=1.0, seconds_per_byte=0.0, turns=2)
    assert end_of([2], [8, 8], [1.0, 5.0], link) == 6
    assert end_of([1, 1], [8, 8], [1.0, 5.0], link) == 6
    assert end_of([1, 1, 1], [8, 8, 8], [0.0, 0.0, 0.0], link) == 2  # two at a time


def test_the_line_takes_one_at_a_time() -> None:
    link = Link(latency=0.0, seconds_per_byte=0.5, turns=4)
    assert end_of([1, 1], [8, 8], [0.0, 0.0], link) == 8
    assert end_of([1, 1], [8, 8], [0.0, 100.0], link) == 104


def every(count: int) -> list[list[int]]:
    """All partitions of so many regions."""
    places = [own for size in range(count) for own in combinations(range(1, count), size)]
    ends = [[0, *own, count] for own in places]
    return [[b - a for a, b in pairwise(own)] for own in ends]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("count", "margin"), [(6, 1.0), (11, 1.1)])
def test_plans_are_near_the_best_of_all(count: int, margin: float, seed: int) -> None:
    chosen = random.Random(seed)
    sizes = [chosen.randrange(100, 400_000) for _ in range(count)]
    ready = sorted(chosen.uniform(0, 0.1) for _ in range(count))
    link = Link(chosen.uniform(0.001, 0.2), chosen.uniform(1e-9, 4e-7), 4)
    best = min(end_of(counts, sizes, ready, link) for counts in every(count))
    plan = planned(sizes, ready, link)
    assert sum(plan) == count and min(plan) > 0
    assert end_of(plan, sizes, ready, link) <= margin * best + count * 2e-4


def test_plans_follow_the_link() -> None:
    sizes, ready = [10_000] * 6, [0.01 * n for n in range(6)]
    assert planned(sizes, ready, Link(0.5, 0.0, 4)) == [6]  # each would wait for the one before
    assert planned(sizes, ready, Link(0.0, 5e-7, 4)) == [3, 2, 1]
    assert planned(sizes, ready, Link(0.5, 0.0, 4), breaks=[2, 5]) == [2, 3, 1]
    assert planned([4], [0.0], LINK) == [1]


def test_buckets_of_a_plan_go_from_the_last_region_to_the_first() -> None:
    model = nn.Sequential(*(nn.Linear(2, 2) for _ in range(4)))
    buckets = divided(adagrain.regions(model, "module"), [1, 3])
    assert [bucket.regions for bucket in buckets] == [(3,), (2, 1, 0)]


def test_what_is_short_takes_half_the_turns() -> None:
    """Four of a second each, or two; the bytes take as long."""
    link = Link(latency=4.0, seconds_per_byte=0.5, turns=4, short=2)
    assert end_of([1], [2], [0.0], link) == pytest.approx(2 + 1)
    assert end_of([1], [4], [0.0], link) == pytest.approx(4 + 2)
