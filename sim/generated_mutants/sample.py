"""Draws mutants, has them checked two at a time, and keeps the results."""

import json
import queue
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path

from .checks import Check, Checks
from .equivalent import argued
from .mutations import Mutation, mutations
from .runs import Result, Runs
from .tree import Tree

__all__ = ["FOLDERS", "Found", "Sample", "drawn"]

#: Whose sources are mutated.
FOLDERS = ("hdl", "models", "host")

#: Runs at a time.
_WORKERS = 2

#: Seconds that a file of tests may take of which nothing is known.
_LONGEST = 300.0


@dataclass(frozen=True)
class Found:
    """A mutant's entry in the journal.

    Parameters
    ----------
    result : Result
        What became of it.
    test : str
        Whose doing that was.
    tests : int
        How many were to check it.
    seconds : float
        How long that took.
    """

    result: Result
    test: str
    tests: int
    seconds: float


@dataclass
class Sample:
    """Mutants of one folder, and what became of them.

    Parameters
    ----------
    root : Path
        The project.
    mutations : list of Mutation
        Those that were drawn.
    equivalents : list of Mutation
        Those that were drawn as well, and are argued to change nothing.
    journal : Path
        File in which results are kept.
    """

    root: Path
    mutations: list[Mutation]
    equivalents: list[Mutation]
    journal: Path
    found: dict[str, Found] = field(default_factory=dict)

    @classmethod
    def draw(
        cls, root: Path, kept: Path, folder: str, *, count: int, seed: int, only: str = ""
    ) -> "Sample":
        """So many mutants that are not argued away, and the results that there are of them."""
        equivalents: list[Mutation] = []

        def wanted() -> Iterator[Mutation]:
            for mutation in drawn(root, folder, seed, only):
                if argued(mutation):
                    equivalents.append(mutation)
                else:
                    yield mutation

        chosen = list(islice(wanted(), count))
        name = "-".join(filter(None, (folder, only.replace("/", "."), str(seed))))
        sample = cls(root, chosen, equivalents, kept / f"{name}.jsonl")
        if sample.journal.exists():
            for row in map(json.loads, sample.journal.read_text().splitlines()):
                key = row.pop("key")
                result = row.pop("verdict", None) or row.pop("result")  # the former in older ones
                sample.found[key] = Found(Result(result), **row)
        return sample

    @property
    def waiting(self) -> list[Mutation]:
        """Those without a result."""
        return [mutation for mutation in self.mutations if mutation.key not in self.found]

    def rehearse(self, checks: Checks, patience: float, scratch: Path) -> Iterator[tuple[int, int]]:
        """Learn how long the tests take that :meth:`check` will run.

        In the project itself, without a mutation; what is compiled for them is kept there. Gives
        how many files of tests are known now, and how many there are so far.
        """
        done = 0
        files = [mutation.file for mutation in self.waiting]
        while left := checks.unknown(files, patience):
            total = done + len(left)
            yield done, total
            for seconds in self._timed(left, scratch):
                checks.learn(seconds)
                done += 1
                yield done, total

    def _timed(self, tests: Sequence[str], scratch: Path) -> Iterator[dict[str, float]]:
        """Seconds of the tests of each file, as it is done."""
        runs = {test: Runs(self.root, scratch / str(n)) for n, test in enumerate(tests)}

        def run(test: str) -> dict[str, float]:
            return {test: 0.0} | runs[test].run([Check(test, _LONGEST)], {}).seconds

        with ThreadPoolExecutor(_WORKERS) as pool:
            futures = [pool.submit(run, test) for test in tests]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                for each in runs.values():
                    each.stop()

    def check(self, checks: Checks, patience: float, scratch: Path) -> Iterator[Mutation]:
        """Check those that wait, in copies of the project below ``scratch``; each as it is done."""
        waiting = self.waiting
        trees = [Tree(self.root, scratch / str(n)) for n in range(min(_WORKERS, len(waiting)))]
        free: queue.SimpleQueue[Tree] = queue.SimpleQueue()
        for tree in trees:
            free.put(tree)

        def check(mutation: Mutation) -> tuple[Found, dict[str, float]]:
            tests = checks.of(mutation.file, patience)
            tree, start = free.get(), time.monotonic()
            try:
                outcome = tree.check(mutation, tests)
            finally:
                free.put(tree)
            seconds = round(time.monotonic() - start, 1)
            return Found(outcome.result, outcome.test, len(tests), seconds), outcome.seconds

        with ThreadPoolExecutor(_WORKERS) as pool:
            futures = {pool.submit(check, mutation): mutation for mutation in waiting}
            try:
                for future in as_completed(futures):
                    found, seconds = future.result()
                    checks.learn(seconds)
                    self._keep(futures[future], found)
                    yield futures[future]
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                for tree in trees:
                    tree.stop()

    def survivors(self) -> Sequence[Mutation]:
        """Those that no test has found."""
        return [m for m in self.mutations if not self.found[m.key].result.is_found]

    def _keep(self, mutation: Mutation, found: Found) -> None:
        self.found[mutation.key] = found
        self.journal.parent.mkdir(parents=True, exist_ok=True)
        with self.journal.open("a") as journal:
            journal.write(json.dumps({"key": mutation.key, **asdict(found)}) + "\n")


def drawn(root: Path, folder: str, seed: int, only: str = "") -> Iterator[Mutation]:
    """Mutations of a folder in random order, no two of one line.

    Parameters
    ----------
    root : Path
        The project.
    folder : str
        One of :data:`FOLDERS`.
    seed : int
        Of the order.
    only : str
        What the file's name must contain.
    """
    files = sorted(str(path.relative_to(root)) for path in (root / folder).rglob("*.py"))
    found = [candidate for f in files if only in f for candidate in mutations(root, f)]
    random.Random(f"{seed} {folder}").shuffle(found)
    lines: set[tuple[str, int]] = set()
    for candidate in found:
        if (candidate.file, candidate.line) not in lines:
            lines.add((candidate.file, candidate.line))
            mutation = candidate.mutation()
            if mutation.diff:
                yield mutation
