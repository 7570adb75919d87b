"""The console of a run."""

import os
import sys

from rich.console import Console

__all__ = ["RunConsole"]


class RunConsole(Console):
    """A console whose reader may leave, as ``head`` does: the run goes on, and says no more."""

    def on_broken_pipe(self) -> None:
        """Write to nowhere from now on."""
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
