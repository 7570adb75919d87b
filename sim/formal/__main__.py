"""``python -m adagrain.sim.formal``: the proofs, and whether they find planted bugs."""

import sys
import time
from typing import Annotated

import typer
from rich.console import Console

from adagrain.sim.mutants import Mutant, Verdict, check

from . import PROOFS, Holds, prove

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@app.command()
def run(
    proof: Annotated[str, typer.Argument(help="A proof, or 'all'.")] = "all",
    planted: Annotated[
        bool, typer.Option(help="Then plant each proof's bug, which it must find.")
    ] = True,
) -> None:
    """Prove what is demanded of the gateware's plumbing, for a bounded number of cycles.

    Example: python -m adagrain.sim.formal cobs --no-planted
    """
    if proof != "all" and proof not in PROOFS:
        raise typer.BadParameter(f"must be all or one of {', '.join(PROOFS)}, not {proof!r}")
    results = [_report(name, planted) for name in (PROOFS if proof == "all" else [proof])]
    sys.exit(0 if all(results) else 1)


def _report(name: str, planted: bool) -> bool:
    console = Console(stderr=True)
    started = time.monotonic()
    with console.status(f"proving {name} …"):
        result = prove(name)
    seconds = time.monotonic() - started
    if not isinstance(result, Holds):
        print(result.said, file=sys.stderr)
        print(f"{name}: FAILED ({result.mode})", flush=True)
        return False
    print(f"{name}: holds for {result.depth} cycles, covers reached ({seconds:.0f} s)", flush=True)
    return not planted or _finds_its_bug(name, console)


def _finds_its_bug(name: str, console: Console) -> bool:
    file, text, wrong = PROOFS[name].PLANTED
    command = ("adagrain.sim.formal", name, "--no-planted")
    with console.status(f"planting a bug for {name} …"):
        found = check(Mutant(name, file, text, wrong, command)) is Verdict.FOUND
    print(f"{name}: {'finds' if found else 'DOES NOT FIND'} the planted bug in {file}", flush=True)
    return found


if __name__ == "__main__":
    app()
