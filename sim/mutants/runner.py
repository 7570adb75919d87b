"""Makes a mutant in a copy of the project and runs what must find it there."""

import enum
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adagrain.sim.simulators.runtime import share

from .catalogue import Mutant

__all__ = ["Result", "check", "patched_copy"]

#: The project: what is copied of it, and what tells it from an installed package.
ROOT = Path(__file__).resolve().parents[2]
_COPIED = ("models", "hdl", "sim", "host", "tests")

#: Seconds after which a run is given up.
_PATIENCE = 900

#: What a failed test or proof says, and a syntax error or a missing program does not.
_RED = re.compile(
    r"(?:Assertion|Difference)Error|E   +Failed: |came to no end|FAILED \((?:bmc|prove|cover)\)"
)


class Result(enum.Enum):
    """The fate of a mutant."""

    FOUND = "found"
    SURVIVED = "survived"
    BROKEN = "broken"  #: no test failed, but something else: the mutant shows nothing


def check(mutant: Mutant) -> Result:
    """Make a mutant, and run its test.

    Raises
    ------
    ValueError
        If the text that it replaces is not there exactly once.
    """
    with patched_copy(mutant.file, mutant.text, mutant.wrong) as copy:
        return _result(copy, mutant.command)


def _result(copy: Path, command: tuple[str, ...]) -> Result:
    cache = copy / "cache"
    share(cache)
    environment = os.environ | {"PYTHONPATH": str(copy), "ADAGRAIN_CACHE": str(cache)}
    environment.pop("WAVES", None)
    try:
        outcome = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=copy,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Result.BROKEN
    if outcome.returncode == 0:
        return Result.SURVIVED
    return Result.FOUND if _RED.search(outcome.stdout) else Result.BROKEN


@contextmanager
def patched_copy(file: str, text: str, wrong: str) -> Iterator[Path]:
    """A copy of the project in which a text of a file is replaced.

    Raises
    ------
    ValueError
        If the text is not in the file exactly once.
    """
    with tempfile.TemporaryDirectory(prefix="adagrain-mutant-") as scratch:
        copy = Path(scratch)
        for folder in _COPIED:
            shutil.copytree(
                ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__")
            )
        shutil.copytree(ROOT / "adagrain", copy / "adagrain", symlinks=True)
        shutil.copy(ROOT / "pyproject.toml", copy)
        source = copy / file
        found = source.read_text().count(text)
        if found != 1:
            raise ValueError(f"text must be in {file} once, not {found} times: {text!r}")
        source.write_text(source.read_text().replace(text, wrong))
        yield copy
