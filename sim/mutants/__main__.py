"""``python -m adagrain.sim.mutants``: make each mutant, and see what the tests say."""

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from . import MUTANTS, Mutant, Result, check

__all__ = ["app"]

app = typer.Typer(add_completion=False)

#: Share of the mutants that must be found.
GOAL = 0.9


@app.command()
def run(
    only: Annotated[str, typer.Option(help="Only those whose name contains this.")] = "",
) -> None:
    """Make each mutant in a copy of the project, and run what must find it.

    Prints the score, and lists survivors and mutants that broke more than a test; the exit status
    is 1 below nine tenths.

    Example: python -m adagrain.sim.mutants --only checksum
    """
    chosen = [mutant for mutant in MUTANTS if only in mutant.name]
    if not chosen:
        raise typer.BadParameter(f"a name must contain {only!r}, but none does")
    survivors: list[tuple[Result, Mutant]] = []
    console = Console(stderr=True)
    with Progress(console=console) as progress:
        task = progress.add_task("", total=len(chosen))
        for mutant in chosen:
            progress.update(task, description=f"{mutant.file}: {mutant.name}")
            result = check(mutant)
            print(f"{result.value:9}{mutant.file}: {mutant.name}", flush=True)
            if result is not Result.FOUND:
                survivors.append((result, mutant))
            progress.advance(task)
    found = len(chosen) - len(survivors)
    print(f"{found} of {len(chosen)} mutants were found ({found / len(chosen):.0%})")
    for result, mutant in survivors:
        print(f"{result.value}: {mutant.file}: {mutant.name}")
    sys.exit(0 if found >= GOAL * len(chosen) else 1)


if __name__ == "__main__":
    app()
