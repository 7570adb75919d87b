"""The program that carries packets between namespaces: compiled once, started, asked."""

import contextlib
import hashlib
import platform
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

from _link import Link

from adagrain.sim.simulators.cache import cache_directory, writable_cache

__all__ = ["Relay", "RelayError"]

_SOURCE = Path(__file__).with_name("_relay.cc")
_FLAGS = ("-std=c++17", "-O2")

#: Milliseconds of a line's time that packets which wait for it may take; others are dropped.
_QUEUE = 400

#: Milliseconds of a line's time that a packet may take that is not yet cut into segments, and bytes
#: of the largest such packet, and of the smallest that is worth it.
_UNCUT, _MOST_UNCUT, _LEAST_UNCUT = 0.5, 25_000, 6_000


class RelayError(RuntimeError):
    """Raised if the program cannot be compiled, or does not run; the message says why."""


class Relay:
    """A network namespace for each worker, and the lines between them, until it is closed.

    The namespaces have no names: whatever ends this process, nothing is left of them.

    Parameters
    ----------
    link : Link
        What joins them.

    Members
    -------
    namespaces : list of str
        Their files, which ``nsenter --net=`` takes.
    uncut : int
        Bytes of the largest packets that workers may leave uncut, where the rate is so high that
        this spares much work; else 0.

    Raises
    ------
    CacheError
        If the compiled program cannot be kept.
    RelayError
        If it cannot be compiled, or started.
    """

    def __init__(self, link: Link) -> None:
        bytes_per_ms = 125 * link.rate
        uncut = int(min(_UNCUT * bytes_per_ms, _MOST_UNCUT))
        self.uncut = uncut if uncut >= _LEAST_UNCUT else 0
        numbers = (
            *(link.workers, 1e6 * link.rate, round(1e6 * link.delay), round(1e6 * link.jitter)),
            *(_QUEUE * bytes_per_ms, self.uncut),
        )
        self._process = subprocess.Popen(
            [_program(), *map(str, numbers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
            start_new_session=True,  # Ctrl-C is for those who know when to close it
        )
        try:
            files = self._answer()
        except BaseException:
            self.close()
            raise
        self.namespaces = [f"/proc/{self._process.pid}/fd/{file}" for file in files]

    def __enter__(self) -> "Relay":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def ask(self, command: str, *numbers: int) -> list[int]:
        """Have a command obeyed; the numbers that are answered.

        Raises
        ------
        RelayError
            If the program has ended.
        """
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):  # there is no answer then
            self._process.stdin.write(" ".join([command, *map(str, numbers)]) + "\n")
        return self._answer()

    def close(self) -> None:
        """Kill all that runs in the namespaces, and end them."""
        if self._process.poll() is None:
            self._process.communicate("end\n")  # a child of this process may hold the pipe open

    def _answer(self) -> list[int]:
        assert self._process.stdout
        assert self._process.stderr
        line = self._process.stdout.readline()
        if not line:
            code, said = self._process.wait(), self._process.stderr.read().strip()
            raise RelayError(f"the relay of packets ended with {code}: {said or 'nothing said'}")
        return [*map(int, line.split())]


def _program() -> Path:
    """The compiled program, from the cache if it is there."""
    recipe = (_SOURCE.read_text(), *_FLAGS, platform.machine())
    digest = hashlib.sha256("\n".join(recipe).encode()).hexdigest()[:16]
    path = cache_directory() / f"relay-{digest}"
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=writable_cache()) as scratch:
            new = Path(scratch) / path.name
            command = ("g++", *_FLAGS, "-o", str(new), str(_SOURCE))
            outcome = subprocess.run(command, capture_output=True, text=True, check=False)
            if outcome.returncode:
                raise RelayError(f"the relay of packets could not be compiled:\n{outcome.stderr}")
            new.replace(path)
    return path
