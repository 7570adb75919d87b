"""Parts of speculation alone: verdicts, tags, buckets, random numbers, options."""

import math
import random

import numpy as np
import pytest
import torch
from torch import nn

import adagrain
from adagrain.host.distributed.agreement import Trials
from adagrain.host.speculation.buckets import buckets_of
from adagrain.host.speculation.form import Form
from adagrain.host.speculation.options import SpeculationOptions
from adagrain.host.speculation.random_state import RandomState
from adagrain.host.speculation.tags import Place, Tags
from adagrain.host.speculation.verdict import Guess, Judge, Verdict


def verdict(
    judge: Judge, before: torch.Tensor, guessed: torch.Tensor, truth: torch.Tensor
) -> Verdict:
    """The verdict on one guess, which goes out from the same weights as the truth."""
    return judge.judge([Guess(before, truth, before, guessed)])[0]


def accepts(guess: list[float], truth: list[float], tau: float, form: str = "rmse") -> bool:
    """The verdict on an update from weights of 0."""
    a, b = torch.tensor(guess), torch.tensor(truth)
    with adagrain.open_device("golden:", "small") as device:
        judge = Judge(device, tau, tau, Form(form))
        return verdict(judge, torch.zeros_like(a), a, b).accepted


@pytest.mark.parametrize(
    ("form", "error"),
    [  # of a guess that is off by 1 in one of four elements, each of which is 1
        ("rmse", 0.5),
        ("mean_absolute", 0.25),
        ("maximum", 1.0),
    ],
)
def test_an_error_is_accepted_up_to_tau(form: str, error: float) -> None:
    guess, truth = [2.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]
    assert accepts(guess, truth, error, form)
    assert not accepts(guess, truth, math.nextafter(error, 0), form)


def test_the_verdict_is_on_updates_and_not_on_weights() -> None:
    with adagrain.open_device("golden:", "small") as device:
        judge = Judge(device, 0.1, 0.1, Form.RMSE)
        before = torch.full((3,), 1000.0)
        assert not verdict(judge, before, before + 2, before + 1).accepted
        assert verdict(judge, before, before + 1, before + 1).accepted


def test_a_guess_may_go_out_from_other_weights_than_the_truth() -> None:
    with adagrain.open_device("golden:", "small") as device:
        judge = Judge(device, 0.1, 0.1, Form.RMSE)
        before, front = torch.zeros(3), torch.ones(3)
        guesses = [
            Guess(before, before + 2, front, front + 2),
            Guess(before, before + 2, front, before + 2),
            Guess(front, front + 2, before, before + 2),
        ]
        assert [own.accepted for own in judge.judge(guesses)] == [True, False, True]


def test_a_guess_may_be_worth_it_and_not_stand_for_the_truth() -> None:
    truth = torch.ones(4)
    with adagrain.open_device("golden:", "small") as device:
        judge = Judge(device, 0.25, 1.0, Form.RMSE)
        for error, accepted, worthy in (
            (0.25, True, True),
            (1.0, False, True),
            (1.1, False, False),
        ):
            found = verdict(judge, torch.zeros(4), truth + error, truth)
            assert (found.accepted, found.worthy) == (accepted, worthy)
        exact = verdict(Judge(device, 0.0, 1.0, Form.RMSE), torch.zeros(4), truth + 0.5, truth)
        assert not exact.accepted and not exact.worthy


@pytest.mark.parametrize(
    ("depth", "tau", "worth"),
    [(0, 0.5, 0.5), (1, 0.5, 0.5), (2, 0.5, 1.0), (3, 2.0, 2.0), (2, 0.0, 0.0)],
)
def test_several_in_flight_are_worth_it_where_they_are_nearer_than_none(
    depth: int, tau: float, worth: float
) -> None:
    assert SpeculationOptions(depth=depth, tau=tau).worth == worth


def test_tau_0_accepts_only_the_same_bits() -> None:
    assert accepts([1.0, 0.0], [1.0, 0.0], 0)
    assert not accepts([1.0, -0.0], [1.0, 0.0], 0)
    assert not accepts([math.nextafter(1.0, 2) + 2**-23], [1.0], 0)


@pytest.mark.parametrize("tau", [1e9, math.inf])
def test_what_is_not_finite_is_rejected(tau: float) -> None:
    assert accepts([1e4, 1.0], [1.0, 1e-3], tau)
    for wrong in (math.nan, math.inf):
        assert not accepts([wrong, 1.0], [1.0, 1.0], tau)
        assert not accepts([1.0, 1.0], [wrong, 1.0], tau)


def test_a_guess_may_be_larger_than_the_truth() -> None:
    """The device's exponent is that of the larger one: nothing is clamped."""
    for guess in (3.9999, 2 - 2**-20, 1e3):
        assert accepts([guess], [1.0], guess)
    assert accepts([0.0], [0.0], 0.1)
    assert not accepts([1e-30], [0.0], 0.1)


def test_tags_know_where_the_first_wrong_guess_has_entered() -> None:
    tags = Tags()
    for region, place in enumerate([(1, 2), (0, 7), (0, 3), (1, 0)]):
        tags.put(region, Place(*place))
    tags.put(0, Place(2, 0))
    assert tags.mask == 0b1111
    tags.resolve(2, accepted=True, worthy=True)
    tags.resolve(0, accepted=False, worthy=False)
    assert tags.mask == 0b1010 and not tags.has(0)
    assert tags.first_rejected == (1, 2)
    tags.resolve(1, accepted=False, worthy=True)
    assert tags.first_rejected == (0, 7)
    tags.discard()
    assert tags.first_rejected is None
    assert tags.guesses == {2: Trials(1, 1), 0: Trials(0, 1), 1: Trials(0, 1)}
    assert tags.worthy == {2: Trials(1, 1), 0: Trials(0, 1), 1: Trials(1, 1)}


@pytest.mark.parametrize(
    ("most", "wanted"),
    [
        (1, [[3], [2], [1], [0]]),
        (48, [[3], [2], [1, 0]]),
        (52, [[3], [2], [1, 0]]),
        (10**6, [[3], [2], [1, 0]]),
    ],
)
def test_buckets_have_regions_of_one_type_from_the_last_on(most: int, wanted: list[object]) -> None:
    kinds = torch.float32, torch.float32, torch.bfloat16, torch.float32
    model = nn.ParameterList([nn.Parameter(torch.ones(6, dtype=kind)) for kind in kinds])
    buckets = buckets_of(adagrain.regions(model, "tensor"), most)
    assert [[*bucket.regions] for bucket in buckets] == wanted
    assert [p for bucket in buckets for p in bucket.parameters] == [*model.parameters()][::-1]


def test_states_of_random_numbers() -> None:
    state = RandomState.now()
    drawn = torch.rand(3).tolist()
    assert state.only_torch_since
    others = [random.random(), np.random.rand()]
    assert not state.only_torch_since
    state.restore()
    assert torch.rand(3).tolist() == drawn
    assert [random.random(), np.random.rand()] == others
    state.restore()
    np.random.rand()
    assert not state.only_torch_since


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tau": -0.1}, "tau must be a number from 0 on, not -0.1"),
        ({"tau": math.nan}, "tau must be a number from 0 on, not nan"),
        ({"tau": "0.5"}, "tau must be a number from 0 on, not '0.5'"),
        ({"form": "mse"}, "form must be one of rmse, mean_absolute, maximum, not 'mse'"),
        ({"depth": 9}, "depth must be an integer from 0 to 8, not 9"),
        ({"bucket_bytes": 0}, "bucket_bytes must be a positive integer, or None, not 0"),
        ({"clip": 0}, "clip must be a positive number, or None, not 0"),
        ({"clip": math.inf}, "clip must be a positive number, or None, not inf"),
        ({"keep_outputs": 1}, "keep_outputs must be True or False, not 1"),
        ({"thau": 1}, "speculate has no option 'thau'; did you mean 'tau'"),
        ({"cap": 0}, "cap must be a positive number, not 0"),
        (
            {"cap": 0.3},
            "cap must be left out where each region is updated in every step, not 0.3: give "
            "cadences, or a policy, cadence",
        ),
        ({"cadence_max": 8}, "cadence_max must be left out where each .* in every step, not 8"),
        ({"cadence": "noise"}, "cadence must be a CadencePolicy or None, not 'noise'"),
        ({"epoch_steps": 0}, "epoch_steps must be at least 1, not 0"),
    ],
)
def test_options_are_checked(options: dict[str, object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        SpeculationOptions.of(options)


def test_speculation_needs_a_process_group() -> None:
    model = nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="speculate needs a process group: call"):
        adagrain.speculate(model, torch.optim.SGD(model.parameters(), lr=0.1))
