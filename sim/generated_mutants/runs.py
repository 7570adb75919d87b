"""Runs of chosen tests by pytest, in a process that can be stopped with all that it has started."""

import enum
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from .checks import Check

__all__ = ["Outcome", "Result", "Runs"]

_FINDER = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
#: Exit statuses of pytest.
_PASSED, _FAILED, _NOTHING_RAN = 0, 1, 5

#: Seconds that any run may take, and how many times what its tests are said to take.
_PATIENCE, _SLOWER = 120, 5


class Result(enum.StrEnum):
    """The fate of a mutant."""

    FOUND = "found"
    TIMED_OUT = "timed out"  #: the tests came to no end: found, too
    BROKEN = "broken"  #: the program does not even start: found by anything
    SURVIVED = "survived"

    @property
    def is_found(self) -> bool:
        return self is not Result.SURVIVED


@dataclass(frozen=True)
class Outcome:
    """A result, the test that it is owed to, if it is known, and how long tests took."""

    result: Result
    test: str = ""
    seconds: dict[str, float] = field(default_factory=dict)


class Runs:
    """Runs tests in a copy of the project, one run at a time.

    Parameters
    ----------
    folder : Path
        The copy, or the project itself.
    scratch : Path
        Beginning of the names of files that it writes.
    """

    def __init__(self, folder: Path, scratch: Path) -> None:
        self._folder = folder
        self._selected = scratch.with_suffix(".selected")
        self._process: subprocess.Popen[str] | None = None

    def run(self, tests: Sequence[Check], environment: Mapping[str, str]) -> Outcome:
        """Run tests till one fails.

        Parameters
        ----------
        environment : mapping
            Variables beside those of this process.
        """
        if not tests:
            return Outcome(Result.SURVIVED)
        self._selected.write_text(json.dumps([(test.name, test.less) for test in tests]))
        files = dict.fromkeys(test.file for test in tests)
        plugins = ("adagrain.sim.generated_mutants.selection", "no:cacheprovider", "no:xdist")
        self._process = process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", "-x", "--tb=line"]
            + [word for plugin in plugins for word in ("-p", plugin)]
            + list(files),
            cwd=self._folder,
            env=self._environment(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=_patience(tests))
        except subprocess.TimeoutExpired:
            return Outcome(Result.TIMED_OUT, seconds=self._seconds())
        finally:
            _end(process)
        seconds = self._seconds()
        if process.returncode in (_PASSED, _NOTHING_RAN):
            return Outcome(Result.SURVIVED, seconds=seconds)
        finder = _FINDER.search(said)
        is_found = process.returncode == _FAILED and finder
        result = Result.FOUND if is_found else Result.BROKEN
        return Outcome(result, finder[1] if finder else "", seconds)

    def stop(self) -> None:
        """End what is running, with all that it has started."""
        if self._process:
            _end(self._process)

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        found = {**os.environ, "ADAGRAIN_SELECTED": str(self._selected), **more}
        for name in ("WAVES", "COVERAGE_PROCESS_START", "ADAGRAIN_FULL"):
            found.pop(name, None)
        return found

    def _seconds(self) -> dict[str, float]:
        """Seconds of the tests of the last run that passed."""
        kept = self._selected.with_suffix(".json")
        found: dict[str, float] = json.loads(kept.read_text()) if kept.exists() else {}
        kept.unlink(missing_ok=True)
        return found


def _patience(tests: Sequence[Check]) -> float:
    """Seconds, more of them where other programs take most of the machine."""
    crowd = os.getloadavg()[0] / (os.cpu_count() or 1)
    return max(1.0, crowd) * (_PATIENCE + _SLOWER * sum(test.seconds for test in tests))


def _end(process: subprocess.Popen[str]) -> None:
    """End a run with all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
