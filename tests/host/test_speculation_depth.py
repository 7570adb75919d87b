"""Speculation with several updates in flight, on real workers: bounded staleness."""

from functools import partial
from typing import Any

import pytest
import torch
from process_groups import WorkerServer
from speculation_runs import OFF, Train, assert_equal, trained
from speculation_setup import begun, sgd
from torch import nn

#: Updates that nobody finds before he waits for them.
LATE = {"looks": 10**9}

#: Counts of guesses.
KINDS = "accepts", "trials"


@pytest.fixture(scope="module")
def train(server: WorkerServer) -> Train:
    """Runs of speculation, one after the other on the same workers."""
    return partial(trained, server)


@pytest.mark.parametrize(
    ("common", "count"),
    [
        ({"optimizer": "sgd", "network": "residual"}, 3),
        ({"optimizer": "momentum", "clip": 0.05}, 2),
        ({"optimizer": "adamw", "passes": 2}, 2),
    ],
    ids=str,
)
def test_all_global_equals_speculation_off(
    common: dict[str, Any], count: int, train: Train
) -> None:
    off, *deep = train(
        *(OFF, {"policy": "never", "depth": 2}, {"policy": "never", "depth": 3}),
        count=count,
        **common,
    )
    for ranks in deep:
        assert_equal(ranks, off)
        assert [own["anchors"] for own in ranks] == [own["anchors"] for own in off]
        assert not any(own["guessed"] or own["missing"] for own in ranks)


@pytest.mark.parametrize(
    "common",
    [
        {"optimizer": "sgd", "network": "residual"},
        {"optimizer": "momentum", "clip": 0.05},
        {"optimizer": "adamw", "passes": 2},
    ],
    ids=str,
)
def test_equal_workers_guess_the_truth_link_by_link(common: dict[str, Any], train: Train) -> None:
    """Two equal halves make the whole again, to the bit: chains of guesses do, too."""
    runs = [{"depth": depth, "looks": looks} for depth, looks in ((2, 12), (2, 10**9), (3, 30))]
    off, *deep = train(OFF, *runs, tau=0, alike=True, **common)
    for run, ranks in zip(runs, deep, strict=True):
        assert_equal(ranks, off)
        for own in ranks:
            assert own["guessed"] == 15 and own["accepts"] == own["trials"]
            assert own["missing"] <= run["depth"] - 1
    assert all(own["missing"] == 1 for own in deep[1])


def test_collectives_do_not_depend_on_what_happens(train: Train) -> None:
    runs = [{"tau": tau, "looks": looks} for tau in (0, 1.0, "inf") for looks in (3, 10**9)]
    found = train(OFF, *({"depth": 2, **run} for run in runs), {"depth": 4, "tau": 1.0})
    assert len({ranks[0]["collectives"] for ranks in found}) == 1
    assert all(own["missing"] == 1 for ranks in found[2:7:2] for own in ranks)


@pytest.mark.parametrize(
    "common",
    [
        {"optimizer": "sgd", "passes": 2},
        {"optimizer": "momentum", "network": "residual", "count": 3},
        {"optimizer": "adamw", "clip": 0.05},
    ],
    ids=str,
)
def test_runs_whose_arrivals_are_alike_repeat(common: dict[str, Any], train: Train) -> None:
    one, again = train(*2 * [{"depth": 2, "tau": 0.5, "looks": 15}], **common)
    assert one == again
    accepts, trials = (sum(sum(own[n].values()) for own in one) for n in ("accepts", "trials"))
    assert 0 < accepts < trials
    assert all(own["redone"] >= own["rejecting"] for own in one)
    assert any(own["rejecting"] for own in one)


def test_all_workers_agree_on_what_became_of_guesses(train: Train) -> None:
    (found,) = train({"depth": 2, "tau": 1.0, "steps": 17}, count=3)
    agreed = [sum(column) for column in zip(*found[0]["agreed"], strict=True)]
    for kind, sums in zip(KINDS, (agreed[:4], agreed[4:]), strict=True):
        assert sums == [sum(own[kind].get(name, 0) for own in found) for name in "0146"]


def test_policies_are_told_of_guesses_that_were_worth_it(train: Train) -> None:
    """What is rejected has to be nearer to the truth than no guess."""
    (found,) = train({"depth": 2, "tau": 0.1, "steps": 17})
    accepts, trials = (sum(sum(own[kind].values()) for own in found) for kind in KINDS)
    told = [sum(column) for column in zip(*found[0]["agreed"], strict=True)]
    assert sum(told[4:]) == trials
    assert accepts < sum(told[:4]) <= trials


def test_several_updates_deep_a_guess_is_all_or_nothing(train: Train) -> None:
    one, two = train({"depth": 1}, {"depth": 2}, policy="seed_literal")
    assert all(8 in own["entered"] for own in one)
    for own in two:
        assert 0 < own["gains"]["0"] < 16
        assert 16 in own["entered"] and {*own["entered"]} <= {0, 16}


class WithoutNumbers(nn.Linear):
    """A layer whose bias gets NaN as its gradient while it is told so."""

    poisoned = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bias = self.bias * 1
        if self.poisoned:
            bias.register_hook(lambda gradient: gradient * torch.nan)
        return nn.functional.linear(x, self.weight, bias)


@pytest.mark.usefixtures("lone_worker")
@pytest.mark.parametrize(("clip", "regions"), [(None, {"2"}), (0.05, {"0", "2"})])
def test_where_gradients_are_clipped_none_is_a_guess_beside_one_that_is_not_finite(
    clip: float | None, regions: set[str]
) -> None:
    """Their common norm scales each."""
    trials = []
    for poison in (-1, 4):
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(12, 16), nn.Tanh(), WithoutNumbers(16, 4))
        speculation = begun(model, sgd(model), tau=torch.inf, depth=2, clip=clip)
        for step in range(8):
            model[2].poisoned = step == poison
            speculation.step(lambda model=model: model(torch.ones(8, 12)).square().mean())
        speculation.settle()
        trials.append(speculation.counts.trials)
        speculation.close()
    assert {name for name in trials[0] if trials[1][name] < trials[0][name]} == regions


@pytest.mark.parametrize("clip", [None, 0.05])
def test_a_gradient_that_is_not_finite_does_not_spread(clip: float | None, train: Train) -> None:
    """It is no guess: what follows waits for its update, which is dropped."""
    options = {"depth": 2, "tau": "inf", "poison": 5, "optimizer": "adamw", "clip": clip}
    for ranks in train(LATE, {"looks": 12}, **options):
        assert {own["dropped"] for own in ranks} == {4}
        assert "nan" not in str([own["losses"][6:] for own in ranks])


def test_a_run_that_is_resumed_goes_on_bit_for_bit(train: Train) -> None:
    """As one that has looked at its state at the same time."""
    options = {"depth": 2, "tau": 1.0, "optimizer": "adamw", "policy": "cost_aware", "steps": 30}
    whole, resumed = train({"saves": 15}, {"resume": 15}, timing="fixed:1000,10", **LATE, **options)
    assert_equal(whole, resumed)
    assert whole[0]["states"][15:] == resumed[0]["states"][-15:] and whole[0]["guessed"]


@pytest.mark.full
@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adamw"])
def test_200_steps(optimizer: str, train: Train) -> None:
    runs = [{"depth": depth, "tau": tau} for depth in (2, 3) for tau in (0, 1.0)]
    found = train(*runs, optimizer=optimizer, count=3, steps=200, timeout=1200)
    for ranks in found:
        assert all(own["rejecting"] and own["missing"] for own in ranks)
