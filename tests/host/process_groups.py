"""Workers of process groups for tests, started by a server that has imported PyTorch once."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

__all__ = ["Ended", "WorkerServer"]

_SERVER = Path(__file__).parent / "fork_server.py"

#: Somebody was faster than the first worker: the run has not begun.
_PORT_TAKEN = "EADDRINUSE"


@dataclass(frozen=True)
class Ended:
    """Remains of a worker."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def error(self) -> str:
        """The last line of its traceback."""
        lines = [line for line in self.stderr.splitlines() if line and not line.startswith(" ")]
        return next((line for line in reversed(lines) if "Error: " in line), self.stderr[-300:])


class WorkerServer:
    """Runs scripts in process groups; a context manager.

    Parameters
    ----------
    modules : sequence of str
        What the scripts import, apart from PyTorch: imported once.
    """

    def __init__(self, modules: Sequence[str] = ()) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(_SERVER), "adagrain.host.distributed.ddp", *modules],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout
        assert self._process.stdout.readline() == "ready\n"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def run(
        self,
        script: Path,
        *arguments: str,
        count: int = 2,
        source: str | None = None,
        timeout: float = 120,
    ) -> list[Ended]:
        """Run a script on so many workers to their ends, or text in its place."""
        assert self._process.stdin and self._process.stdout
        job = {
            "script": str(script),
            "arguments": arguments,
            "count": count,
            "source": source,
            "timeout": timeout,
        }
        while True:
            print(json.dumps(job), file=self._process.stdin, flush=True)
            ended = [Ended(**one) for one in json.loads(self._process.stdout.readline())]
            if not any(_PORT_TAKEN in worker.stderr for worker in ended):
                return ended
