"""Speculation with real workers on gloo: what must be equal to the bit, or in other ways."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from process_groups import WorkerServer
from speculation_runs import NOTHING_IS_ACCEPTED, OFF, Train, assert_equal, trained

EXAMPLE = Path(__file__).parents[2] / "examples" / "speculative.py"


@pytest.fixture(scope="module")
def train(server: WorkerServer) -> Train:
    """Runs of speculation, one after the other on the same workers."""
    return partial(trained, server)


GLOBAL = {"policy": "never"}
ALL_IS_ACCEPTED = {"tau": "inf"}
VOID = {"tau": 0, "void": True}


@pytest.mark.parametrize(
    ("common", "count"),
    [
        ({"optimizer": "sgd", "network": "residual"}, 3),
        ({"optimizer": "momentum", "clip": 0.05}, 3),
        ({"optimizer": "adamw"}, 3),
        ({"optimizer": "adamw", "clip": 0.05, "network": "residual"}, 2),
        ({"optimizer": "momentum", "passes": 3}, 2),
        ({"optimizer": "fused", "autocast": True, "passes": 2}, 2),
    ],
    ids=str,
)
def test_tau_0_and_all_global_equal_speculation_off(
    common: dict[str, Any], count: int, train: Train
) -> None:
    off, waiting, rejecting, void = train(
        *(OFF, GLOBAL, NOTHING_IS_ACCEPTED, VOID), count=count, **common
    )
    for ranks in (waiting, rejecting, void):
        assert_equal(ranks, off)
        assert [own["anchors"] for own in ranks] == [own["anchors"] for own in off]
    for own in (*rejecting, *void):
        assert own["rejecting"] >= 0.9 * 15  # the first step has nothing in flight
        assert own["redone"] >= own["rejecting"] and not any(own["accepts"].values())
    assert not any(own["guessed"] for own in (*off, *waiting))


@pytest.mark.parametrize(
    "common",
    [
        {"optimizer": "sgd", "network": "residual"},
        {"optimizer": "momentum", "clip": 0.05},
        {"optimizer": "adamw", "passes": 3},
        {"optimizer": "adamw", "autocast": True},
    ],
    ids=str,
)
def test_without_speculation_two_workers_equal_plain_ddp(
    common: dict[str, Any], train: Train
) -> None:
    ddp, off = train({"ddp": True}, OFF, **common)
    assert ddp[0]["weights"] == off[0]["weights"]


def test_collectives_do_not_depend_on_what_happens(train: Train) -> None:
    runs = train(OFF, GLOBAL, NOTHING_IS_ACCEPTED, ALL_IS_ACCEPTED, {"tau": 1.0, "looks": 3})
    assert len({ranks[0]["collectives"] for ranks in runs}) == 1
    assert len({ranks[0]["weights"] for ranks in runs}) == 3


def test_what_is_accepted_is_kept_and_runs_repeat(train: Train) -> None:
    accepting, again, half = train(ALL_IS_ACCEPTED, ALL_IS_ACCEPTED, {"tau": 1.0}, count=3)
    assert_equal(accepting, again)
    for own in accepting:
        assert own["guessed"] == 15 and own["accepts"] == own["trials"] and not own["redone"]
    accepts, trials = (sum(sum(own[n].values()) for own in half) for n in ("accepts", "trials"))
    assert 0 < accepts < trials


def test_all_workers_agree_on_what_became_of_guesses(train: Train) -> None:
    """What a step's guesses became is summed with the step; nothing of the last one is left out."""
    (found,) = train({"tau": 1.0}, count=3)
    agreed = [sum(column) for column in zip(*found[0]["agreed"], strict=True)]
    for kind, sums in (("accepts", agreed[:4]), ("trials", agreed[4:])):
        assert sums == [sum(own[kind].get(name, 0) for own in found) for name in "0146"]


def test_equal_workers_guess_the_truth(train: Train) -> None:
    """Two equal halves make the whole again, to the bit: even τ = 0 accepts it, clipped or not."""
    for clip in (None, 0.05):
        off, same = train(OFF, NOTHING_IS_ACCEPTED, alike=True, optimizer="adamw", clip=clip)
        assert_equal(same, off)
        for own in same:
            assert own["guessed"] == 15 and own["accepts"] == own["trials"] and not own["redone"]


def test_states_follow_what_the_device_decides(train: Train) -> None:
    """Equal workers agree wholly. In HYBRID the guess is 15/16 of the truth: near, not equal."""
    options = {"policy": "cost_aware", "timing": "fixed:1000,10", "steps": 32, "alike": True}
    near, equal = train({"tau": 0.1}, {"tau": 0}, **options)
    way = [list(dict.fromkeys(row[0] for row in own[0]["states"])) for own in (near, equal)]
    assert way == [[0, 1, 2], [0, 1]]
    assert [row[0] for row in equal[0]["states"]][-1] == 0
    assert near[0]["gains"]["0"] == 16 and equal[0]["gains"]["0"] == 0
    assert near[0]["accepts"] == near[0]["trials"]
    assert 0 < equal[0]["guessed"] == equal[0]["rejecting"] < 16


def test_a_gradient_that_is_not_finite_on_one_worker(train: Train) -> None:
    off, rejecting = train(OFF, NOTHING_IS_ACCEPTED, poison=5, optimizer="adamw")
    assert off[0]["weights"] == rejecting[0]["weights"]
    assert off[0]["dropped"] == rejecting[0]["dropped"] == 4
    assert "nan" not in str(off[0]["losses"][6:])


def test_a_run_that_is_resumed_goes_on_bit_for_bit(train: Train) -> None:
    whole, resumed = train(OFF, NOTHING_IS_ACCEPTED | {"resume": 8}, optimizer="adamw")
    assert_equal(whole, resumed)


def test_the_example_guesses_and_learns(server: WorkerServer) -> None:
    first, second = server.run(EXAMPLE, "--steps", "60", "--tau", "2")
    assert first.returncode == second.returncode == 0, first.stderr[-3000:]
    found = re.match(r"accuracy (\d+\.\d)%; guesses in \d+ of 60 steps\n", first.stdout)
    assert found and float(found[1]) > 70


def test_chosen_buckets_change_nothing_on_two_workers(train: Train) -> None:
    """Sums of two do not depend on how regions go together."""
    options = {"bucket_bytes": None, "optimizer": "adamw"}
    ddp, *others = train({"ddp": True}, OFF, NOTHING_IS_ACCEPTED, {"resume": 8}, **options)
    assert all(ranks[0]["weights"] == ddp[0]["weights"] for ranks in others)


def test_passes_may_be_done_again_whole(train: Train) -> None:
    options = {"network": "residual", "keep_outputs": False}
    off, whole = train(OFF, NOTHING_IS_ACCEPTED, **options)
    assert_equal(whole, off)


@pytest.mark.full
def test_devices_come_to_the_same_verdicts(train: Train) -> None:
    runs = [{"device": device, "preset": "small", "tau": 1.0} for device in ("golden:", "sim:")]
    golden, simulated = train(*runs, timeout=1200)
    assert golden == simulated


@pytest.mark.full
@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize(
    "common",
    [
        {"optimizer": "sgd", "clip": 0.1},
        {"optimizer": "momentum", "clip": 0.1, "network": "residual"},
        {"optimizer": "adamw", "clip": 0.1, "passes": 2},
        {"optimizer": "adamw", "clip": 0.1, "autocast": True},
    ],
    ids=str,
)
def test_200_steps(common: dict[str, Any], count: int, train: Train) -> None:
    off, *others = train(
        *(OFF, GLOBAL, NOTHING_IS_ACCEPTED), count=count, steps=200, timeout=1200, **common
    )
    for ranks in others:
        assert_equal(ranks, off)
    assert all(own["rejecting"] >= 180 for own in others[1])
