"""``python -m adagrain.sim.generated_mutants``: draw mutants, and see what the tests say."""

import random
import statistics
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .checks import Checks
from .runs import Result
from .sample import FOLDERS, Sample

__all__ = ["app"]

app = typer.Typer(add_completion=False)

ROOT = Path(__file__).resolve().parents[2]
#: What is kept: the results of each sample, and how long tests took.
KEPT = ROOT / "build" / "mutants"

#: Share of the mutants that must be found.
GOAL = 0.85


@app.command()
def run(
    sample: Annotated[int, typer.Option(min=1, help="Mutants of each folder.")] = 100,
    folder: Annotated[str, typer.Option(help="hdl, models or host; all of them by default.")] = "",
    seed: Annotated[int | None, typer.Option(help="Of the choice; by default a new one.")] = None,
    only: Annotated[str, typer.Option(help="Files whose name contains this.")] = "",
    patience: Annotated[float, typer.Option(help="Seconds of tests for each mutant.")] = 150,
) -> None:
    """Change one thing at a time in a copy of the project, and run the tests that import it.

    Results are kept: the same sample goes on where it was interrupted. Prints the score of each
    folder, and the survivors; the exit status is 1 where less than 85 % were found.

    Example: python -m adagrain.sim.generated_mutants --sample 20 --folder hdl --only link
    """
    if folder and folder not in FOLDERS:
        raise typer.BadParameter(f"folder must be one of {', '.join(FOLDERS)}, not {folder!r}")
    seed = random.randrange(1 << 31) if seed is None else seed
    print(f"seed {seed}", flush=True)
    drawn = {
        name: Sample.draw(ROOT, KEPT, name, count=sample, seed=seed, only=only)
        for name in ([folder] if folder else FOLDERS)
    }
    samples = {name: own for name, own in drawn.items() if own.mutations or own.equivalents}
    if not samples:
        raise typer.BadParameter(f"name of a file with mutants must contain {only!r}, none does")
    checks = Checks(ROOT, KEPT / "seconds.json")
    scores = []
    for name, own in samples.items():
        _check(own, checks, patience, name)
        scores.append(_report(own, name))
    raise typer.Exit(0 if all(score >= GOAL for score in scores) else 1)


def _check(sample: Sample, checks: Checks, patience: float, folder: str) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    progress = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True))
    with progress, tempfile.TemporaryDirectory(prefix="adagrain-mutants-") as scratch:
        task = progress.add_task("how long tests take", visible=False)
        for known, total in sample.rehearse(checks, patience, Path(scratch)):
            progress.update(task, completed=known, total=total, visible=True)
        total = len(sample.mutations)
        done = total - len(sample.waiting)
        task = progress.add_task(f"mutants of {folder}", total=total, completed=done)
        for _ in sample.check(checks, patience, Path(scratch)):
            progress.advance(task)


def _report(sample: Sample, folder: str) -> float:
    """Print the survivors and the score; the latter."""
    for mutation in sample.survivors():
        tests = sample.found[mutation.key].tests
        where = f"{mutation.file}:{mutation.line}: {mutation.function}"
        print(f"survived {tests} tests: {where}\n{mutation.diff}\n")
    rows = [sample.found[mutation.key] for mutation in sample.mutations]
    results = [row.result for row in rows]
    found = sum(result.is_found for result in results)
    score = found / len(rows) if rows else 1.0
    counts = ", ".join(f"{results.count(result)} {result}" for result in Result)
    usual = statistics.median(row.seconds for row in rows) if rows else 0.0
    print(
        f"{folder}: {found} of {len(rows)} mutants were found ({score:.0%}): {counts}; "
        f"{len(sample.equivalents)} more are argued to change nothing; {usual:g} s each",
        flush=True,
    )
    return score


if __name__ == "__main__":
    app()
