"""``python -m adagrain.sim``: run the benches of units."""

import os
import sys
from typing import Annotated

import typer
from rich.console import Console

from adagrain.hdl.flow import ToolError

from .simulators import runner
from .simulators.cache import CacheError
from .simulators.verilator import ToolMissingError

__all__ = ["app", "simulate"]

app = typer.Typer(add_completion=False)


@app.command()
def simulate(
    unit: Annotated[str, typer.Argument(help="The unit, or 'all'.", metavar="UNIT")] = "all",
    simulator: Annotated[str, typer.Option(help="verilator or icarus.")] = "verilator",
    variant: Annotated[
        str | None, typer.Option(help="Only this variant; by default all of the unit.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of all random numbers; by default a new one.")
    ] = None,
    waves: Annotated[bool, typer.Option("--waves", help="Record waves of every signal.")] = False,
    netlist: Annotated[
        str | None,
        typer.Option(help="ecp5, ice40 or gowin: test what synthesis makes of the unit."),
    ] = None,
) -> None:
    """Run the cocotb bench of a unit on every variant of it.

    Example: python -m adagrain.sim queue --variant packet --simulator icarus --seed 1 --waves
    """
    waves = waves or os.environ.get("WAVES") == "1"
    failures = 0
    try:
        for name in runner.units() if unit == "all" else [unit]:
            chosen = [variant] if variant else runner.variants(name, _checked(simulator))
            failures += sum(
                not _passes(name, each, simulator, seed, waves, netlist) for each in chosen
            )
    except (ValueError, CacheError, ToolMissingError, ToolError) as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    raise typer.Exit(1 if failures else 0)


def _checked(simulator: str) -> runner.Simulator:
    for known in runner.SIMULATORS:
        if simulator == known:
            return known
    raise ValueError(f"simulator must be {' or '.join(runner.SIMULATORS)}, not {simulator!r}")


def _passes(
    unit: str, variant: str, simulator: str, seed: int | None, waves: bool, netlist: str | None
) -> bool:
    console = Console(stderr=True)
    title = f"{unit} {variant} on {simulator}" + (f", netlist for {netlist}" if netlist else "")
    try:
        with console.status(f"{title} …"):
            outcome = runner.run(
                unit, variant, _checked(simulator), waves=waves, seed=seed, netlist=netlist
            )
    except runner.BenchError as error:
        print(error, file=sys.stderr)
        print(f"{title}: FAILED")
        return False
    print(f"{title}: {outcome.tests} tests passed, seed {outcome.seed}")
    if outcome.waves:
        print(f"waves ({outcome.waves.suffix[1:].upper()}): {outcome.waves}")
    return True


if __name__ == "__main__":
    app()
