"""What joins the workers of a network lab: its figures, and what it takes to make it."""

import math
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Link", "reason_against"]

#: Workers that a lab has room for.
_WORKERS = range(2, 9)

#: What a lab is made with.
_TUN = Path("/dev/net/tun")
_TOOLS = ("ip", "nsenter", "unshare", "g++")


@dataclass(frozen=True)
class Link:
    """A line each way from every worker to a switch that takes no time.

    Parameters
    ----------
    rate : float
        Mbit/s of a line, each way; headers of IP count.
    delay : float
        Milliseconds that a packet takes beside those on the line, one way.
    workers : int
        How many are joined, 2 to 8.
    jitter : float
        Milliseconds by which the delay is more or less, drawn every 10 ms. No packet overtakes
        another.

    Raises
    ------
    ValueError
        If a figure is out of its range.
    """

    rate: float
    delay: float = 0.0
    workers: int = 2
    jitter: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.rate < math.inf:
            raise ValueError(f"rate must be more than 0 Mbit/s, not {self.rate:g}")
        if not 0 <= self.delay < math.inf:
            raise ValueError(f"delay must be 0 ms or more, not {self.delay:g}")
        if not 0 <= self.jitter <= self.delay:
            raise ValueError(
                f"jitter must be from 0 ms to the delay, {self.delay:g}, not {self.jitter:g}"
            )
        if self.workers not in _WORKERS:
            raise ValueError(f"workers must be {_WORKERS[0]} to {_WORKERS[-1]}, not {self.workers}")

    @property
    def name(self) -> str:
        """In names of files."""
        return f"{self.rate:g}_{self.delay:g}" + (f"_{self.workers}" if self.workers > 2 else "")

    def __str__(self) -> str:
        jitter = f" ± {self.jitter:g}" if self.jitter else ""
        return f"{self.rate:g} Mbit/s, {self.delay:g}{jitter} ms, {self.workers} workers"


def reason_against() -> str | None:
    """Why there can be no lab here, if there cannot."""
    if os.geteuid():
        return "a network lab needs root"
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        return f"a network lab needs {', '.join(missing)}"
    try:
        _TUN.open("rb").close()
    except OSError as error:
        return f"a network lab needs {_TUN}, which cannot be opened ({error.strerror})"
    tried = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return "a network lab needs the right to make network namespaces" if tried.returncode else None
