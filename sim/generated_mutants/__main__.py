"""``python -m adagrain.sim.generated_mutants``: draw mutants, and see what the tests say."""

import itertools
import json
import queue
import random
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .equivalent import argued
from .judges import Judges
from .mutations import Mutation
from .sample import FOLDERS, drawn
from .tree import Tree, Verdict

__all__ = ["app"]

app = typer.Typer(add_completion=False)

ROOT = Path(__file__).resolve().parents[2]
#: What is kept: the verdicts of each sample, and how long tests took.
KEPT = ROOT / "build" / "mutants"

#: Runs at a time.
_WORKERS = 2

#: Share of the mutants that must be found.
GOAL = 0.85

_console = Console(stderr=True)


@app.command()
def run(
    sample: Annotated[int, typer.Option(min=1, help="Mutants of each folder.")] = 100,
    folder: Annotated[str, typer.Option(help="hdl, models or host; all of them by default.")] = "",
    seed: Annotated[int | None, typer.Option(help="Of the choice; by default a new one.")] = None,
    only: Annotated[str, typer.Option(help="Files whose name contains this.")] = "",
    patience: Annotated[float, typer.Option(help="Seconds of tests for each mutant.")] = 150,
) -> None:
    """Change one thing at a time in a copy of the project, and run the tests that import it.

    Verdicts are kept: the same sample goes on where it was interrupted. Prints the score of each
    folder, and the survivors; the exit status is 1 where less than 85 % were found.

    Example: python -m adagrain.sim.generated_mutants --sample 20 --folder hdl --only link
    """
    if folder and folder not in FOLDERS:
        raise typer.BadParameter(f"folder must be one of {', '.join(FOLDERS)}, not {folder!r}")
    seed = random.randrange(1 << 31) if seed is None else seed
    print(f"seed {seed}", flush=True)
    judges = Judges(ROOT, KEPT / "seconds.json")
    scores = [
        _Sample(name, seed, sample, only, judges, patience).run()
        for name in ([folder] if folder else FOLDERS)
    ]
    raise typer.Exit(0 if all(score >= GOAL for score in scores) else 1)


class _Sample:
    """Mutants of one folder, and what became of them."""

    def __init__(
        self,
        folder: str,
        seed: int,
        count: int,
        only: str,
        judges: Judges,
        patience: float,
    ) -> None:
        self._folder, self._judges, self._patience = folder, judges, patience
        self._journal = KEPT / f"{folder}-{only.replace('/', '-')}-{seed}.jsonl"
        self._equivalents: list[Mutation] = []
        self._mutations = list(
            itertools.islice(self._wanted(drawn(ROOT, folder, seed, only)), count)
        )

    def run(self) -> float:
        """Judge those that have no verdict yet, and print what was found; the score."""
        verdicts = self._known()
        waiting = [m for m in self._mutations if m.key not in verdicts]
        with tempfile.TemporaryDirectory(prefix="adagrain-mutants-") as scratch:
            for mutation, row in self._judged(waiting, Path(scratch)):
                verdicts[mutation.key] = row
                with self._journal.open("a") as journal:
                    journal.write(json.dumps({"key": mutation.key, **row}) + "\n")
        return self._report(verdicts)

    def _wanted(self, mutations: Iterable[Mutation]) -> Iterator[Mutation]:
        """Those that are not argued to change nothing."""
        for mutation in mutations:
            if argued(mutation):
                self._equivalents.append(mutation)
            else:
                yield mutation

    def _known(self) -> dict[str, dict[str, Any]]:
        if not self._journal.exists():
            return {}
        rows = map(json.loads, self._journal.read_text().splitlines())
        return {row.pop("key"): row for row in rows}

    def _judged(
        self, mutations: Sequence[Mutation], scratch: Path
    ) -> Iterator[tuple[Mutation, dict[str, Any]]]:
        trees: queue.SimpleQueue[Tree] = queue.SimpleQueue()
        for number in range(min(_WORKERS, len(mutations))):
            trees.put(Tree(ROOT, scratch / str(number)))

        def judge(mutation: Mutation) -> dict[str, Any]:
            tests = self._judges.of(mutation.file, self._patience)
            tree, start = trees.get(), time.monotonic()
            try:
                outcome = tree.judge(mutation, tests)
            finally:
                trees.put(tree)
            seconds = round(time.monotonic() - start, 1)
            self._judges.learn(outcome.seconds)
            return {
                "verdict": outcome.verdict,
                "test": outcome.test,
                "tests": len(tests),
                "seconds": seconds,
            }

        with _progress() as progress, ThreadPoolExecutor(_WORKERS) as pool:
            task = progress.add_task(f"mutants of {self._folder}", total=len(mutations))
            for mutation, row in zip(mutations, pool.map(judge, mutations), strict=True):
                progress.advance(task)
                yield mutation, row

    def _report(self, verdicts: dict[str, dict[str, Any]]) -> float:
        rows = [verdicts[mutation.key] for mutation in self._mutations]
        kinds = [Verdict(row["verdict"]) for row in rows]
        for mutation, row, kind in zip(self._mutations, rows, kinds, strict=True):
            if not kind.is_found:
                where = f"{mutation.file}:{mutation.line}: {mutation.function}"
                print(f"survived {row['tests']} tests: {where}\n{mutation.diff}\n")
        found = sum(kind.is_found for kind in kinds)
        score = found / len(kinds) if kinds else 1.0
        usual = statistics.median(row["seconds"] for row in rows) if rows else 0
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in Verdict)
        print(
            f"{self._folder}: {found} of {len(kinds)} mutants were found ({score:.0%}): {counts}; "
            f"{len(self._equivalents)} more are argued to change nothing; {usual} s each",
            flush=True,
        )
        return score


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeElapsedColumn(), console=_console)


if __name__ == "__main__":
    app()
