"""``python -m adagrain.sim.formal``: the proofs, and whether they find mutants."""

import sys
import time
from typing import Annotated

import typer
from rich.console import Console

from adagrain.hdl.flow import ToolError
from adagrain.sim.mutants import Mutant, Result, check

from . import PROOFS, Holds, prove

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@app.command()
def run(
    proof: Annotated[str, typer.Argument(help="A proof, or 'all'.")] = "all",
    mutants: Annotated[
        bool, typer.Option(help="Then check each proof's mutant, which it must find.")
    ] = True,
) -> None:
    """Prove what is demanded of the gateware's plumbing, for some cycles or for all time.

    Example: python -m adagrain.sim.formal cobs --no-mutants
    """
    if proof != "all" and proof not in PROOFS:
        raise typer.BadParameter(f"must be all or one of {', '.join(PROOFS)}, not {proof!r}")
    try:
        results = [_report(name, mutants) for name in (PROOFS if proof == "all" else [proof])]
    except ToolError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    sys.exit(0 if all(results) else 1)


def _report(name: str, mutants: bool) -> bool:
    console = Console(stderr=True)
    started = time.monotonic()
    with console.status(f"proving {name} …"):
        result = prove(name)
    seconds = time.monotonic() - started
    if not isinstance(result, Holds):
        print(result.said, file=sys.stderr)
        print(f"{name}: FAILED ({result.mode})", flush=True)
        return False
    time_span = "all time" if result.depth is None else f"{result.depth} cycles"
    print(f"{name}: holds for {time_span}, covers reached ({seconds:.0f} s)", flush=True)
    return not mutants or _finds_its_mutant(name, console)


def _finds_its_mutant(name: str, console: Console) -> bool:
    file, text, wrong = PROOFS[name].MUTANT
    command = ("adagrain.sim.formal", name, "--no-mutants")
    with console.status(f"looking for the mutant of {name} …"):
        found = check(Mutant(name, file, text, wrong, command)) is Result.FOUND
    print(f"{name}: {'finds' if found else 'DOES NOT FIND'} the mutant of {file}", flush=True)
    return found


if __name__ == "__main__":
    app()
