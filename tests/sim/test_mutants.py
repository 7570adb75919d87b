"""Mutants: the list is sound, and some of them are found; `make mutants` does all."""

from pathlib import Path

import pytest

from adagrain.sim.mutants import MUTANTS, Mutant, Result, check, patched_copy

ROOT = Path(__file__).parents[2]

#: Those that CI runs.
QUICK = ("break is noticed too early", "checksum is not looked at")


def test_the_list_is_long_and_names_differ() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 30


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_text_that_is_replaced_is_there(mutant: Mutant) -> None:
    assert (ROOT / mutant.file).read_text().count(mutant.text) == 1
    assert mutant.text != mutant.wrong


@pytest.mark.parametrize("name", QUICK)
def test_a_mutant_is_found(name: str) -> None:
    (mutant,) = (mutant for mutant in MUTANTS if mutant.name == name)
    assert check(mutant) is Result.FOUND


def test_a_change_that_changes_nothing_survives() -> None:
    command = ("adagrain.sim", "queue", "--variant", "single")
    harmless = Mutant("harmless", "hdl/stream/queue.py", "m = Module()", "m = Module( )", command)
    assert check(harmless) is Result.SURVIVED


def test_a_change_that_breaks_the_program_shows_nothing() -> None:
    command = ("adagrain.sim", "queue", "--variant", "single")
    broken = Mutant("broken", "hdl/stream/queue.py", "m = Module()", "m = Modul()", command)
    assert check(broken) is Result.BROKEN


def test_a_text_that_is_not_there() -> None:
    with (
        pytest.raises(
            ValueError, match=r"text must be in hdl/stream/queue.py once, not 0 times: 'pigs'"
        ),
        patched_copy("hdl/stream/queue.py", "pigs", "fly"),
    ):
        pass
