"""The proofs hold, and each finds its mutant."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adagrain.sim.formal import PROOFS, Holds, prove
from adagrain.sim.formal.__main__ import app

#: Those that CI runs; the others take up to some minutes each.
QUICK = ("single", "skid", "spill_register", "queue", "bit_packer", "bit_unpacker")

README = Path(__file__).parents[2] / "sim" / "README.md"


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.full) for n in PROOFS]
)
def test_proof_holds_and_finds_its_bug(name: str) -> None:
    outcome = subprocess.run(
        [sys.executable, "-m", "adagrain.sim.formal", name],
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    span = "all time" if PROOFS[name].INDUCTION else f"{PROOFS[name].DEPTH} cycles"
    assert f"{name}: holds for {span}, " in outcome.stdout
    assert f"{name}: finds the mutant" in outcome.stdout


def test_an_unknown_proof() -> None:
    with pytest.raises(ValueError, match=r"proof must be one of queue, .*, not 'pigs'"):
        prove("pigs")


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SBY", "no-sby")
    outcome = CliRunner().invoke(app, ["skid", "--no-mutants"])
    assert outcome.exit_code == 2
    assert outcome.output.startswith("error: no-sby is missing; install the extra: pip install")


def test_a_bound_is_reported() -> None:
    assert prove("skid") == Holds(PROOFS["skid"].DEPTH)


def test_the_table_of_proofs_is_of_these_proofs() -> None:
    """Each with its bound, or ``all`` where it is for all time or more cycles tell no more."""
    table = README.read_text().partition("| proof | what holds | cycles |")[2].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    found = {name: cycles for names, _, cycles in rows for name in re.findall(r"`(\w+)`", names)}
    assert {*found} == {*PROOFS}
    for name, cycles in found.items():
        assert cycles == "all" or not PROOFS[name].INDUCTION
        assert cycles in ("all", str(PROOFS[name].DEPTH))
