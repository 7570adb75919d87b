"""Speculation whose gradients are compressed: equal to the bit to what does not speculate."""

from functools import partial
from typing import Any

import pytest
from process_groups import WorkerServer
from speculation_runs import COMPRESSED, NOTHING_IS_ACCEPTED, OFF, Train, assert_equal, trained


@pytest.fixture(scope="module")
def train(server: WorkerServer) -> Train:
    """Runs of speculation, one after the other on the same workers."""
    return partial(trained, server, **COMPRESSED)


@pytest.mark.parametrize(
    "common",
    [
        {"optimizer": "momentum", "clip": 0.05},
        {"optimizer": "adamw", "passes": 2, "network": "residual"},
        {"optimizer": "sgd", "compression": {"mask": "random", "momentum": 0.9, "bypass": "never"}},
        {"optimizer": "sgd", "compression": {"bypass": "always"}},
        {"optimizer": "adamw", "compression": {"budget": 300, "bypass": {6: True, 11: False}}},
    ],
    ids=str,
)
def test_without_speculation_it_equals_the_reducer(common: dict[str, Any], train: Train) -> None:
    ddp, off, rejecting = train({"ddp": True}, OFF, NOTHING_IS_ACCEPTED, **common)
    assert ddp[0]["weights"] == off[0]["weights"]
    assert_equal(rejecting, off)


@pytest.mark.parametrize("count", [pytest.param(2, marks=pytest.mark.full), 3])
@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adamw"])
def test_tau_0_equals_speculation_off(optimizer: str, count: int, train: Train) -> None:
    off, rejecting = train(OFF, NOTHING_IS_ACCEPTED, optimizer=optimizer, count=count)
    assert_equal(rejecting, off)
    for own, plainly in zip(rejecting, off, strict=True):
        assert own["rejecting"] >= 0.9 * 15 and not any(own["accepts"].values())
        for name in ("anchors", "collectives", "bytes", "exchange"):
            assert own[name] == plainly[name], name


def test_few_bytes_are_sent(train: Train) -> None:
    dense, compressed = train({"compression": None}, NOTHING_IS_ACCEPTED, network="residual")
    assert compressed[0]["bytes"] < 0.6 * dense[0]["bytes"]
    assert compressed[0]["weights"] != dense[0]["weights"]


def test_guesses_are_accepted_and_runs_repeat(train: Train) -> None:
    one, other = train({"tau": "inf"}, {"tau": "inf"}, count=3)
    assert_equal(one, other)
    for own in one:
        assert own["guessed"] == 15 and own["accepts"] == own["trials"] and not own["redone"]


@pytest.mark.parametrize(
    "compression",
    [COMPRESSED["compression"], {"mask": "random", "bypass": "never"}, {"bypass": "always"}],
    ids=str,
)
def test_a_resumed_run_goes_on_bit_for_bit(compression: dict[str, Any], train: Train) -> None:
    resumed = NOTHING_IS_ACCEPTED | {"resume": 8}
    common = {"optimizer": "adamw", "compression": compression}
    whole, other = train(OFF, resumed, **common)
    assert_equal(whole, other)
    for own, others in zip(whole, other, strict=True):
        assert own["exchange"] == others["exchange"] and own["bytes"] == others["bytes"]


def test_a_frame_that_one_worker_refuses_counts_on_none(train: Train) -> None:
    ddp, off, rejecting, sound = train(
        *({"ddp": True}, OFF, NOTHING_IS_ACCEPTED, OFF | {"damaged": ()}), damaged=[3, 4, 9]
    )
    assert ddp[0]["weights"] == off[0]["weights"] != sound[0]["weights"]
    assert_equal(rejecting, off)
    for ranks in (off, rejecting):
        assert [own["refused"] for own in ranks] == [3, 0]


def test_a_worker_may_settle_alone(train: Train) -> None:
    """It waits for no other worker to wait, too."""
    off, alone = train(OFF, NOTHING_IS_ACCEPTED | {"settles": True}, count=3)
    assert_equal(off, alone)
    assert not alone[1]["guessed"] and alone[0]["guessed"] == 15


def test_a_gradient_that_is_not_finite_on_one_worker(train: Train) -> None:
    off, rejecting = train(OFF, NOTHING_IS_ACCEPTED, poison=5, optimizer="adamw")
    assert_equal(rejecting, off)
    assert off[0]["dropped"] == rejecting[0]["dropped"] == 4
    assert off[0]["exchange"] == rejecting[0]["exchange"]
    assert "nan" not in str(off[0]["losses"][6:])


def test_decisions_on_the_bypass_are_equal_on_all_workers(train: Train) -> None:
    (found,) = train({"compression": {"density": 0.1}}, tau=0, steps=20, count=3)
    assert [own["bypassed"] for own in found] == [found[0]["bypassed"]] * 3
    assert [*found[0]["bypassed"]] == ["2", "16"]


def test_the_device_codes(train: Train) -> None:
    golden, device = train(
        *({}, {"compression": COMPRESSED["compression"] | {"coder": "device"}}), tau=0
    )
    assert golden == device


@pytest.mark.full
def test_200_steps(train: Train) -> None:
    options = {"count": 4, "steps": 200, "timeout": 1200, "optimizer": "adamw", "clip": 0.1}
    off, rejecting = train(OFF, NOTHING_IS_ACCEPTED, **options)
    assert_equal(rejecting, off)
    assert all(own["rejecting"] >= 180 for own in rejecting)
