"""Speculation with layers that choose their precision: what they see, do and learn counts once."""

from functools import partial
from typing import Any

import pytest
from process_groups import WorkerServer
from speculation_runs import NOTHING_IS_ACCEPTED, OFF, Found, Train, assert_equal, trained

LEARNT: dict[str, Any] = {"penalty": 0.5, "every": 2, "channel_groups": 2, "dwell": 0}
BOUND = LEARNT | {"thresholds": [0.9, 0.99, 1.0], "penalty": 0.2}
CHOSEN = LEARNT | {"learn": False, "start": "INT4", "thresholds": [1e-4, 0.02, 0.9]}
FIXED = {"fixed": "FP16", "gradients": "INT4"}
ALL = {
    "compression": {"density": 0.1, "bypass": "never"},
    "cadences": {"0": 2, "4": 4},
    "cadence_max": 4,
}


@pytest.fixture(scope="module")
def train(server: WorkerServer) -> Train:
    """Runs of speculation, one after the other on the same workers."""
    return partial(trained, server, preset="granular", optimizer="momentum")


def assert_alike(found: Found) -> None:
    """Runs are equal to the bit, with all that layers have seen and done."""
    one, *others = found
    for other in others:
        assert_equal(one, other)
        for name in ("work", "seen", "thresholds", "anchors"):
            assert [own[name] for own in one] == [own[name] for own in other], name


@pytest.mark.parametrize(
    ("granular", "more"),
    [
        pytest.param(LEARNT, {}, id="learnt"),
        pytest.param(CHOSEN, ALL, id="chosen-all"),
        pytest.param(FIXED, {}, id="fixed"),
        pytest.param(LEARNT, ALL, id="learnt-all", marks=pytest.mark.full),
        pytest.param(CHOSEN, {}, id="chosen", marks=pytest.mark.full),
        pytest.param(FIXED, ALL, id="fixed-all", marks=pytest.mark.full),
    ],
)
def test_without_speculation_it_equals_the_hook(
    granular: dict[str, Any], more: dict[str, Any], train: Train
) -> None:
    ddp, off = train({"ddp": True}, OFF, granular=granular, **more)
    for name in ("weights", "work", "seen", "thresholds"):  # buffers are the first one's there
        assert [own[name] for own in ddp] == [own[name] for own in off], name


@pytest.mark.parametrize(
    ("granular", "more"),
    [
        pytest.param(CHOSEN, {}, id="chosen"),
        pytest.param(FIXED, ALL, id="fixed-all"),
        pytest.param(CHOSEN, ALL, id="chosen-all", marks=pytest.mark.full),
        pytest.param(FIXED, {}, id="fixed", marks=pytest.mark.full),
    ],
)
def test_tau_0_equals_speculation_off(
    granular: dict[str, Any], more: dict[str, Any], train: Train
) -> None:
    """Passes that are done again count once, and look at what is true."""
    whole = NOTHING_IS_ACCEPTED | {"keep_outputs": False}
    found = train(OFF, NOTHING_IS_ACCEPTED, whole, granular=granular, **more)
    assert_alike(found)
    least = 7 if more else 13
    assert all(own["redone"] >= least for ranks in found[1:] for own in ranks)


def test_precisions_follow_what_is_seen(train: Train) -> None:
    (found,) = train(NOTHING_IS_ACCEPTED, granular=CHOSEN)
    assert all(own["work"]["switches"] > 0 for own in found)


@pytest.mark.parametrize("count", [2, 3])
def test_tau_0_waits_for_thresholds(count: int, train: Train) -> None:
    off, waiting = train(OFF, NOTHING_IS_ACCEPTED, granular=LEARNT, count=count, **ALL)
    assert_alike([off, waiting])
    assert not waiting[0]["guessed"]


@pytest.mark.parametrize("depth", [pytest.param(1, marks=pytest.mark.full), 2])
def test_thresholds_learn_while_guesses_are_made(depth: int, train: Train) -> None:
    """They are equal on all workers, and in each run."""
    options = {"tau": "inf", "depth": depth, "count": 3, "granular": LEARNT}
    one, other, fewer = train({}, {"looks": 3}, {"looks": 1}, **options)
    off, *_ = train(OFF, granular=LEARNT, count=3)
    for ranks in (one, other, fewer):
        assert len({own["thresholds"] for own in ranks}) == 1
        assert ranks[0]["thresholds"] != off[0]["thresholds"]
    assert all(own["guessed"] for own in one)


def test_thresholds_are_equal_where_one_worker_settles(train: Train) -> None:
    """Though they are held, and updates come one by one elsewhere."""
    options = {"tau": "inf", "settles": True, "looks": 10**9, "granular": BOUND}
    for found in train(*({"depth": depth} for depth in (1, 2, 3)), **options):
        assert len({own["thresholds"] for own in found}) == 1


def test_runs_repeat(train: Train) -> None:
    assert_alike(train({}, {}, tau="inf", granular=LEARNT, **ALL))


@pytest.mark.parametrize("granular", [LEARNT, CHOSEN], ids=["learnt", "chosen"])
def test_a_resumed_run_goes_on_bit_for_bit(granular: dict[str, Any], train: Train) -> None:
    assert_alike(
        train({"saves": 8}, {"resume": 8}, tau=1e-9, looks=10**6, granular=granular, **ALL)
    )
