"""A copy of the project in which one mutation after the other is made and tested."""

import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from adagrain.sim.simulators.cache import cache_directory

from .checks import Check
from .imports import imports, reached
from .mutations import Mutation
from .runs import Outcome, Result, Runs

__all__ = ["Tree"]


_NUMBA = re.compile(r"^(?:import|from) numba", re.MULTILINE)
#: Seconds that a test may take to show that it passes without a mutation.
_HEALTHY = 120.0

#: Files of tests that run first: to collect all takes longer than to find most mutants.
_FIRST = 3


class Tree:
    """A copy of the project's files, with builds and caches of its own.

    Libraries that were compiled before are found in it; what it compiles is gone with it.

    Parameters
    ----------
    root : Path
        The project.
    scratch : Path
        An empty folder for the copy.
    """

    def __init__(self, root: Path, scratch: Path) -> None:
        self._copy = scratch / "tree"
        self._runs = Runs(self._copy, scratch)
        self._mutants_kernels = scratch / "mutants-kernels"
        self._stamp = 1_000_000_000
        self._healthy: dict[str, bool] = {}
        _copy(root, self._copy)
        self._in_kernels = _in_kernels(self._copy)
        cache = scratch / "cache"
        _link(cache_directory(), cache)
        self._environment = {
            "PYTHONPATH": str(self._copy),
            "PYTHONPYCACHEPREFIX": str(scratch / "bytecode"),
            "ADAGRAIN_CACHE": str(cache),
            "NUMBA_CACHE_DIR": str(scratch / "kernels"),
        }

    def check(self, mutation: Mutation, tests: Sequence[Check]) -> Outcome:
        """Make a mutation, and run tests till one fails.

        A test that fails without it as well is not heard; the others decide. Where time is up but
        tests have passed, nothing is proven: those that are left go on.
        """
        files = list(dict.fromkeys(test.file for test in tests))
        first = [test for test in tests if test.file in files[:_FIRST]]
        others = [test for test in tests if test.file not in files[:_FIRST]]
        with self._mutated(mutation):
            outcome = self._run(first)
            if others and outcome.result is Result.SURVIVED:
                rest = self._run(others)
                outcome = replace(rest, seconds=outcome.seconds | rest.seconds)
        if outcome.result is Result.TIMED_OUT and any("::" in name for name in outcome.seconds):
            later = self.check(mutation, _left(tests, outcome.seconds))
            return replace(later, seconds=outcome.seconds | later.seconds)
        if outcome.result is not Result.FOUND or self._is_healthy(outcome.test):
            return outcome
        return self.check(mutation, [t for t in tests if t.file != _file(outcome.test)])

    def stop(self) -> None:
        """End what is running, with all that it has started."""
        self._runs.stop()

    def _is_healthy(self, test: str) -> bool:
        """True if a test passes without a mutation; one of each file is asked."""
        file = _file(test)
        if file not in self._healthy:
            outcome = self._run([Check(test, _HEALTHY)])
            self._healthy[file] = outcome.result is Result.SURVIVED
        return self._healthy[file]

    @contextmanager
    def _mutated(self, mutation: Mutation) -> Iterator[None]:
        """With a modification time that no other version has: compiled code is kept by it."""
        path = self._copy / mutation.file
        before, environment = path.stat(), self._environment
        path.write_text(mutation.mutated)
        self._stamp += 2
        os.utime(path, (self._stamp, self._stamp))
        if mutation.file in self._in_kernels:
            self._environment = environment | {"NUMBA_CACHE_DIR": str(self._mutants_kernels)}
        try:
            yield
        finally:
            path.write_text(mutation.source)
            os.utime(path, (before.st_atime, before.st_mtime))
            self._environment = environment
            shutil.rmtree(self._mutants_kernels, ignore_errors=True)

    def _run(self, tests: Sequence[Check]) -> Outcome:
        return self._runs.run(tests, self._environment)


def _left(tests: Sequence[Check], passed: Collection[str]) -> list[Check]:
    """The tests but for those that have passed."""
    return [
        replace(test, less=(*test.less, *passed))
        for test in tests
        if test.name not in passed or "::" not in test.name
    ]


def _file(test: str) -> str:
    return test.partition("::")[0]


def _copy(root: Path, copy: Path) -> None:
    """All files that the project has, or is about to have."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        source, target = root / name, copy / name
        if source.is_symlink() or source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)


def _in_kernels(root: Path) -> set[str]:
    """Files whose constants and functions compiled kernels hold: they are compiled anew."""
    found = imports(root)
    return {*reached(found, [f for f in found if _NUMBA.search((root / f).read_text())])}


def _link(there: Path, here: Path) -> None:
    here.mkdir(parents=True)
    for entry in there.iterdir() if there.exists() else ():
        if entry.suffix == ".so" or entry.name.startswith("runtime-"):
            (here / entry.name).symlink_to(entry.resolve())
