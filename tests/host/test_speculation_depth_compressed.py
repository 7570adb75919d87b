"""Speculation several updates deep, whose gradients are compressed, on real workers."""

import re
from typing import Any

import pytest
from process_groups import WorkerServer
from speculation_runs import (
    COMPRESSED,
    LATE,
    MIXED,
    NOISE,
    OFF,
    Found,
    Train,
    assert_equal,
    trained,
)

MOST = {"compression": {"density": 0.9, "bypass": "never"}}
RANDOM = {"mask": "random", "momentum": 0.9, "bypass": "never"}


#: Frames of the first worker that the second one cannot decode: each is told of behind the next.
DAMAGED = {"damaged": [3, 4, 9]}


@pytest.fixture(scope="module")
def train(server: WorkerServer) -> Train:
    """Runs of speculation, one after the other on the same workers."""

    def run(*runs: dict[str, Any], **common: Any) -> Found:
        return trained(server, *runs, **{**COMPRESSED, **common})

    return run


def lost(ranks: list[dict[str, Any]]) -> float:
    """What was given and is neither in an average nor in a residual, as a part of what was."""
    given, averaged, left = map(sum, zip(*(own["balance"] for own in ranks), strict=True))
    assert abs(left) > 1e-3 * abs(given)
    return abs(given - averaged - left) / abs(given)


@pytest.mark.parametrize(
    ("common", "count"),
    [
        pytest.param({"optimizer": "sgd", "network": "residual"}, 3, marks=pytest.mark.full),
        ({"optimizer": "momentum", "clip": 0.05} | MIXED | MOST, 2),
        ({"optimizer": "adamw", "passes": 2} | MIXED | MOST, 3),
        pytest.param({"optimizer": "sgd", "compression": RANDOM}, 2, marks=pytest.mark.full),
        pytest.param(
            {"optimizer": "sgd", "compression": {"bypass": "always"}} | MIXED,
            2,
            marks=pytest.mark.full,
        ),
        ({"optimizer": "adamw", "compression": {"budget": 300, "bypass": {6: True, 11: False}}}, 2),
    ],
    ids=str,
)
def test_all_global_equals_speculation_off(
    common: dict[str, Any], count: int, train: Train
) -> None:
    """What does not fit into a slot would wait longer, as slots grow later; here all does."""
    runs = [{"policy": "never", "depth": depth, "looks": 30} for depth in (2, 3)]
    off, *deep = train(OFF, *runs, count=count, **common)
    for ranks in deep:
        assert_equal(ranks, off)
        assert [own["anchors"] for own in ranks] == [own["anchors"] for own in off]
        assert not any(own["guessed"] or own["overflows"] for own in ranks)


@pytest.mark.parametrize("common", [{}, MIXED, MIXED | NOISE], ids=str)
def test_runs_whose_arrivals_are_alike_repeat(common: dict[str, Any], train: Train) -> None:
    run = {"depth": 2, "tau": 1.0, "optimizer": "momentum", "looks": 15}
    one, again = train(run, run, **{"count": 3, **common})
    assert one == again
    assert all(own["missing"] == 1 for own in one)
    assert sum(sum(own["accepts"].values()) for own in one)
    assert lost(one) < 1e-4


def test_collectives_do_not_depend_on_what_happens(train: Train) -> None:
    """Sizes of slots follow from what is sent; they are the same on all workers."""
    runs = [{"tau": tau, "looks": looks} for tau in (0, 1.0, "inf") for looks in (3, 10**9)]
    found = train(*runs, depth=3, count=3, **MIXED)
    kinds = {re.sub(r"\d+, 'torch.uint8'", "frame", own[0]["collectives"]) for own in found}
    assert len(kinds) == 1 and "frame" in kinds.pop()
    assert all(own["missing"] <= 2 for ranks in found for own in ranks)


@pytest.mark.parametrize(
    "depth", [pytest.param(1, marks=pytest.mark.full), 2, pytest.param(3, marks=pytest.mark.full)]
)
@pytest.mark.parametrize("common", [DAMAGED, {"poison": 5}, DAMAGED | MIXED], ids=str)
def test_nothing_is_lost(common: dict[str, Any], depth: int, train: Train) -> None:
    """Frames that do not count, and regions that are dropped, wait on the workers.

    Behind a refused frame, sums of BF16 are rounded: that is lost.
    """
    (found,) = train({"depth": depth, "tau": 1.0}, optimizer="adamw", steps=24, **common)
    assert lost(found) < (4e-3 if "damaged" in common else 1e-4)
    if "damaged" in common:
        assert [own["refused"] for own in found] == [3, 0]
        (passes,) = {own["dense_after_refusal"] for own in found}
        assert 2 <= passes <= 3
    else:
        assert {own["dropped"] for own in found} == {4}
    assert "nan" not in str([own["losses"][6:] for own in found])


@pytest.mark.parametrize("damaged", [(), [6, 7, 12, 13]])
@pytest.mark.parametrize(
    "common",
    [
        pytest.param({"alike": True}, marks=pytest.mark.full),
        MIXED | {"alike": True},
        NOISE,
    ],
    ids=str,
)
def test_a_run_that_is_resumed_goes_on_bit_for_bit(
    common: dict[str, Any], damaged: Any, train: Train
) -> None:
    """With what has become of passes that have not ended; in mid-period, too."""
    options = {"depth": 3, "tau": 1.0, "optimizer": "adamw", "damaged": damaged, **LATE, **common}
    whole, resumed = train({"saves": 9}, {"resume": 9}, **options)
    assert_equal(whole, resumed)
    for name in ("exchange", "bytes", "cadences", "refused"):
        assert [own[name] for own in whole] == [own[name] for own in resumed], name
    assert whole[0]["guessed"]


def test_a_decision_on_the_bypass_holds_from_the_same_pass_on_all_workers(train: Train) -> None:
    (found,) = train({"compression": {"density": 0.1}}, depth=3, tau=1.0, steps=24, count=3)
    assert [own["bypassed"] for own in found] == [found[0]["bypassed"]] * 3
    assert [*found[0]["bypassed"]] == ["4", "18"]


def test_a_worker_may_settle_alone(train: Train) -> None:
    off, alone = train(OFF, {"depth": 2, "policy": "never", "settles": True}, count=3)
    assert_equal(off, alone)


@pytest.mark.full
def test_200_steps(train: Train) -> None:
    runs = [{"depth": depth, "tau": tau} for depth in (2, 3) for tau in (0, 1.0)]
    common = NOISE | {"optimizer": "adamw", "count": 3, "steps": 200, "timeout": 1200}
    for ranks in train(*runs, **common):
        assert all(own["guessed"] for own in ranks) and lost(ranks) < 1e-4
