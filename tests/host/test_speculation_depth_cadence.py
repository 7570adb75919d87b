"""Speculation several updates deep, of regions that have cadences, on real workers."""

from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from process_groups import WorkerServer
from speculation_runs import LATE, MIXED, NOISE, OFF, RESIDUAL, Train, assert_equal, trained

#: Nothing is due in three of four steps.
SELDOM = {"cadences": dict.fromkeys("0146", 4)}


@pytest.fixture(scope="module")
def train(server: WorkerServer) -> Train:
    """Runs of speculation, one after the other on the same workers."""
    return partial(trained, server)


def column(ranks: list[dict[str, Any]], region: int) -> list[str | None]:
    """A region's weights behind each step; ``None`` where it was not updated."""
    return [own[region] for own in ranks[0]["anchors"]]


def due(ranks: list[dict[str, Any]], region: int) -> list[int]:
    """Steps in which a region was updated."""
    return [step for step, own in enumerate(column(ranks, region)) if own is not None]


def due_by(decided: list[dict[str, int]], name: str, depth: int) -> list[int]:
    """Steps in which a region is updated by decisions, of which that on each fourth step counts."""
    found, cadence, coming = [], 1, 1
    for step in range(len(decided)):
        if step >= depth and (step - depth) % 4 == 3:
            coming = decided[step - depth][name]
        if step % max(cadence, coming) == 0:
            cadence = coming
        if (step + 1) % cadence == 0:
            found.append(step)
    return found


@pytest.mark.parametrize(
    ("common", "count"),
    [
        ({"optimizer": "sgd"} | RESIDUAL, 3),
        ({"optimizer": "momentum", "clip": 0.05} | MIXED, 2),
        ({"optimizer": "adamw", "passes": 2} | MIXED, 3),
        ({"optimizer": "adamw", "clip": 0.05} | SELDOM, 2),
    ],
    ids=str,
)
def test_all_global_equals_speculation_off(
    common: dict[str, Any], count: int, train: Train
) -> None:
    runs = [{"policy": "never", "depth": depth, "looks": 30} for depth in (2, 3)]
    off, *deep = train(OFF, *runs, count=count, **common)
    for ranks in deep:
        assert_equal(ranks, off)
        for name in ("anchors", "collectives", "bytes", "cadences"):
            assert [own[name] for own in ranks] == [own[name] for own in off], name
        assert not any(own["guessed"] for own in ranks)


@pytest.mark.parametrize(
    "common",
    [
        {"optimizer": "sgd"} | RESIDUAL,
        {"optimizer": "momentum", "clip": 0.05} | MIXED,
        {"optimizer": "adamw", "passes": 2} | MIXED,
        {"optimizer": "adamw"} | SELDOM,
    ],
    ids=str,
)
def test_equal_workers_guess_the_truth_link_by_link(common: dict[str, Any], train: Train) -> None:
    runs = [{"depth": depth, "looks": looks} for depth, looks in ((2, 12), (2, 10**9), (5, 30))]
    off, *deep = train(OFF, *runs, tau=0, alike=True, **common)
    for run, ranks in zip(runs, deep, strict=True):
        assert_equal(ranks, off)
        for own in ranks:
            assert own["guessed"] and own["accepts"] == own["trials"]
            assert own["missing"] <= run["depth"] - 1
    assert all(own["missing"] == (common["cadences"] != SELDOM["cadences"]) for own in deep[1])


def test_what_is_due_is_judged_once_and_nothing_else(train: Train) -> None:
    """The newest update is guessed, and not judged; that of step 15 never is."""
    (found,) = train({"tau": "inf", "depth": 2}, count=3, **MIXED, **LATE)
    for own in found:
        assert own["trials"] == own["accepts"] == {"0": 7, "1": 14, "4": 3, "6": 14}


def test_collectives_do_not_depend_on_what_happens(train: Train) -> None:
    runs = [{"tau": tau, "looks": looks} for tau in (0, 1.0, "inf") for looks in (3, 10**9)]
    deep = [{"depth": 2, **run} for run in runs]
    found = train(OFF, *deep, {"depth": 4, "tau": 1.0}, **MIXED, count=3)
    assert len({ranks[0]["collectives"] for ranks in found}) == 1
    assert all(own["missing"] == 1 for ranks in found[2:7:2] for own in ranks)
    assert all(own["missing"] <= 3 for own in found[-1])


@pytest.mark.parametrize(
    "common",
    [
        {"optimizer": "sgd", "passes": 2} | MIXED,
        {"optimizer": "momentum", "tau": 0.3} | RESIDUAL,
        {"optimizer": "adamw", "clip": 0.05, "count": 3} | MIXED,
        {"optimizer": "momentum", "depth": 3} | NOISE,
    ],
    ids=str,
)
def test_runs_whose_arrivals_are_alike_repeat(common: dict[str, Any], train: Train) -> None:
    one, again = train({}, {}, **{"depth": 2, "tau": 0.5, "looks": 15, **common})
    assert one == again
    accepts, trials = (sum(sum(own[n].values()) for own in one) for n in ("accepts", "trials"))
    assert 0 < accepts < trials
    assert any(own["rejecting"] for own in one)


def test_all_workers_agree_on_what_became_of_guesses(train: Train) -> None:
    """It is told when a region is due again; in step 17 all are that have been judged."""
    (found,) = train({"depth": 2, "tau": 1.0, "steps": 17}, count=3, **MIXED)
    agreed = [sum(column) for column in zip(*found[0]["agreed"], strict=True)]
    for kind, sums in (("accepts", agreed[:4]), ("trials", agreed[4:])):
        told = [sum(own[kind].get(name, 0) for own in found) for name in "0146"]
        assert [sums[1], sums[3]] == [told[1], told[3]]
        assert 0 <= told[0] - sums[0] <= 3 and 0 <= told[2] - sums[2] <= 3


@pytest.mark.parametrize("clip", [None, 0.05])
def test_a_gradient_that_is_not_finite_does_not_spread(clip: float | None, train: Train) -> None:
    """It drops the period that it is in; without clipping as without speculation."""
    options = {"poison": 5, "optimizer": "adamw", "clip": clip} | MIXED
    deep = [{"depth": d, "tau": "inf", "looks": n} for d, n in ((2, 12), (2, 10**9), (4, 10**9))]
    off, never, *guessing = train(OFF, {"policy": "never", "depth": 2}, *deep, **options)
    assert_equal(never, off)
    for ranks in guessing:
        assert {own["dropped"] for own in ranks} == {4}
        assert "nan" not in str([own["losses"][6:] for own in ranks])


@pytest.mark.parametrize("saved", [15, 17])
def test_a_run_that_is_resumed_goes_on_bit_for_bit(saved: int, train: Train) -> None:
    """In mid-period, and where a cadence has been decided on, and is still to come."""
    common = NOISE | LATE | {"depth": 3, "tau": 1.0, "optimizer": "adamw", "alike": True}
    whole, resumed = train({"saves": saved}, {"resume": saved}, timing="fixed:1000,10", **common)
    assert_equal(whole, resumed)
    assert whole[0]["states"][saved:] == resumed[0]["states"][-(32 - saved) :]
    assert whole[0]["guessed"] and whole[0]["cadences"] == resumed[0]["cadences"]


@pytest.mark.parametrize("depth", [2, 3, 6])
def test_a_decision_on_cadences_comes_into_force_later(depth: int, train: Train) -> None:
    """Where a period of both begins; as long as cadences are the same, so are the weights."""
    common = NOISE | {"optimizer": "momentum", "count": 3, "steps": 48}
    off, deep = train(OFF, {"policy": "never", "depth": depth}, **common)
    for region, name in enumerate("0146"):
        updated = due(deep, region)
        assert updated == due_by(deep[0]["decided"], name, depth)
        gaps = [one - before for before, one in pairwise(updated)]
        assert gaps == sorted(gaps) and {*gaps} == {1, 2, 4}
    changed = [next(s for s in range(48) if s not in due(ranks, 0)) for ranks in (off, deep)]
    before = slice(min(changed))
    assert off[0]["anchors"][before] == deep[0]["anchors"][before]


@pytest.mark.full
@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adamw"])
def test_200_steps(optimizer: str, train: Train) -> None:
    runs = [{"depth": depth, "tau": tau} for depth in (2, 3) for tau in (0, 1.0)]
    common = NOISE | {"optimizer": optimizer, "count": 3, "steps": 200, "timeout": 1200}
    for ranks in train(*runs, **common):
        assert all(own["guessed"] for own in ranks)
