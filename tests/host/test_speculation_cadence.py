"""Speculation at cadences: equal to the bit to what does not speculate."""

from functools import partial
from typing import Any

import pytest
from process_groups import WorkerServer
from speculation_runs import (
    COMPRESSED,
    LATE,
    MIXED,
    NOISE,
    NOTHING_IS_ACCEPTED,
    OFF,
    RESIDUAL,
    Train,
    assert_equal,
    trained,
)


@pytest.fixture(scope="module")
def train(server: WorkerServer) -> Train:
    """Runs of speculation, one after the other on the same workers."""
    return partial(trained, server)


@pytest.mark.parametrize(
    "common",
    [
        {"optimizer": "momentum", "clip": 0.05} | MIXED,
        {"optimizer": "adamw", "passes": 2} | RESIDUAL,
        {"optimizer": "sgd", "cadences": {"0": 4, "1": 4, "4": 4, "6": 4}},
        {"optimizer": "momentum"} | MIXED | COMPRESSED,
    ],
    ids=str,
)
def test_without_speculation_it_equals_the_reducer(common: dict[str, Any], train: Train) -> None:
    ddp, off, rejecting = train({"ddp": True}, OFF, NOTHING_IS_ACCEPTED, **common)
    assert ddp[0]["weights"] == off[0]["weights"]
    assert_equal(rejecting, off)


def test_cadence_1_equals_no_cadence(train: Train) -> None:
    without, fixed, policy = train(
        *(OFF, OFF | {"cadences": {"0": 1}}, OFF | {"cadence": "noise"}), optimizer="adamw"
    )
    assert_equal(fixed, without)
    assert_equal(policy, without)


@pytest.mark.parametrize(
    ("common", "count"),
    [
        ({"optimizer": "sgd"} | RESIDUAL, 3),
        pytest.param({"optimizer": "momentum", "clip": 0.05} | MIXED, 3, marks=pytest.mark.full),
        pytest.param({"optimizer": "adamw", "passes": 2} | MIXED, 2, marks=pytest.mark.full),
        ({"optimizer": "adamw"} | MIXED | COMPRESSED, 3),
        ({"optimizer": "momentum"} | NOISE, 2),
        ({"optimizer": "adamw"} | NOISE | MIXED | COMPRESSED, 3),
    ],
    ids=str,
)
def test_tau_0_equals_speculation_off(common: dict[str, Any], count: int, train: Train) -> None:
    off, rejecting, void = train(
        *(OFF, NOTHING_IS_ACCEPTED, {"tau": 0, "void": True}), count=count, **common
    )
    for ranks in (rejecting, void):
        assert_equal(ranks, off)
        for name in ("anchors", "collectives", "cadences", "bytes"):
            assert [own[name] for own in ranks] == [own[name] for own in off], name
    for own in (*rejecting, *void):
        assert own["rejecting"] >= 0.4 * common.get("steps", 16)
        assert not any(own["accepts"].values())


def test_the_policy_decides(train: Train) -> None:
    """What is sent late makes averages larger: compressed, there is little noise in them."""
    plain, compressed = train(*({}, MIXED | COMPRESSED), tau=0, optimizer="momentum", **NOISE)
    assert plain[0]["cadences"] == dict.fromkeys("0146", 4)
    assert compressed[0]["cadences"]["4"] == 1


def test_only_what_is_due_is_guessed(train: Train) -> None:
    (found,) = train({"tau": "inf"}, count=3, **MIXED, **LATE)
    for own in found:
        assert own["trials"] == own["accepts"] == {"0": 7, "1": 15, "4": 3, "6": 15}


def test_equal_workers_guess_the_truth(train: Train) -> None:
    """Means of the same period at the same rate: even τ = 0 accepts them, clipped or not.

    Some of them arrive while gradients of regions that were not due are being computed.
    """
    for clip in (None, 0.05):
        common = {"alike": True, "optimizer": "adamw", "clip": clip} | MIXED
        off, late, same = train(OFF, NOTHING_IS_ACCEPTED | LATE, NOTHING_IS_ACCEPTED, **common)
        assert_equal(late, off)
        assert_equal(same, off)
        for own in late:
            assert own["accepts"] == own["trials"] == {"0": 7, "1": 15, "4": 3, "6": 15}


def test_nothing_is_lost_of_what_became_of_guesses(train: Train) -> None:
    """It is told when a region is due again."""
    (found,) = train({"tau": 1.0}, **MIXED, count=3)
    agreed = [sum(column) for column in zip(*found[0]["agreed"], strict=True)]
    for kind, sums in (("accepts", agreed[:4]), ("trials", agreed[4:])):
        assert sums == [sum(own[kind].get(name, 0) for own in found) for name in "0146"]


@pytest.mark.parametrize("common", [{}, COMPRESSED], ids=str)
def test_a_run_that_is_resumed_in_mid_period_goes_on_bit_for_bit(
    common: dict[str, Any], train: Train
) -> None:
    whole, *resumed = train(
        *(OFF, NOTHING_IS_ACCEPTED | {"resume": 6}, OFF | {"resume": 9}),
        **{"optimizer": "adamw", **MIXED, **common},
    )
    for ranks in resumed:
        assert_equal(ranks, whole)
        for name in ("bytes", "exchange"):
            assert [own.get(name) for own in ranks] == [own.get(name) for own in whole]


def test_fewer_bytes_are_sent(train: Train) -> None:
    always, seldom, both = train(
        *({}, {"cadences": {"0": 4, "1": 4, "4": 4, "6": 4}}, MIXED | COMPRESSED), tau=0
    )
    assert seldom[0]["bytes"] == always[0]["bytes"] / 4
    assert both[0]["bytes"] < 0.4 * always[0]["bytes"]


def test_a_gradient_that_is_not_finite_drops_its_period(train: Train) -> None:
    off, rejecting = train(OFF, NOTHING_IS_ACCEPTED, poison=5, optimizer="adamw", **MIXED)
    assert_equal(rejecting, off)
    assert off[0]["dropped"] == rejecting[0]["dropped"] == 4
    assert "nan" not in str(off[0]["losses"][6:])
