"""Guesses of a speculative run, in its summary and to people."""

import pytest

from adagrain.host.distributed.flown import Flown
from adagrain.host.train.guesses import guesses, guesses_rows
from adagrain.host.train.history import History, RegionHistory


@pytest.fixture
def history() -> History:
    """Of 20 steps; one region is due in each of the last ones, after it had waited for four."""
    flown = [Flown(0, 0.25, 1.0, 2.0), Flown(1, 0.5, 0.0, 0.5)]
    found = History(steps=[*range(20)], flown=flown)
    found.regions["one"] = RegionHistory(
        step=[3, 7, 18, 19],
        state=["GLOBAL", "HYBRID", "HYBRID", "FULL"],
        accepts=[0, 1, 2, 1],
        trials=[0, 2, 2, 2],
    )
    found.regions["two"] = RegionHistory(
        step=[0, 9], state=["GLOBAL", "FULL"], accepts=[0] * 2, trials=[0] * 2
    )
    return found


def test_regions_and_steps_are_added_up(history: History) -> None:
    """A state holds until another is decided, which holds from the next step on."""
    shares = {"GLOBAL": 0.4, "HYBRID": 0.6, "FULL": 0.0}
    others = {"GLOBAL": 0.5, "HYBRID": 0.0, "FULL": 0.5}
    none = {"guesses": 0, "accepts": 0, "rejects": 0}
    assert guesses(history) == {
        "passes_redone": 1,
        "hidden": 1.0,
        "waited": 0.75,
        "stall": 2.5,
        "guesses": 6,
        "accepts": 4,
        "rejects": 2,
        "regions": {
            "one": {"state": "FULL", "states": shares, "guesses": 6, "accepts": 4, "rejects": 2},
            "two": {"state": "FULL", "states": others, **none},
        },
    }


def test_what_people_see(history: History) -> None:
    assert guesses_rows(guesses(history), 1234) == {
        "states and guesses": "one: FULL at the end; GLOBAL 40%, HYBRID 60%; "
        "6 guesses: 4 accepted, 2 rejected\n"
        "two: FULL at the end; GLOBAL 50%, FULL 50%; 0 guesses: 0 accepted, 0 rejected",
        "guesses": "6: 4 accepted, 2 rejected",
        "passes done again": "1 in 1,234 steps",
        "exchanges": "1.00 s hidden, 0.75 s waited for",
        "stall": "2.50 s",
    }


def test_a_run_of_no_steps_has_none() -> None:
    found = guesses(History())
    assert found["guesses"] == found["stall"] == 0 and not found["regions"]
