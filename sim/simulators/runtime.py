"""Verilator's own sources, compiled once for all designs."""

import functools
import platform
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .cache import cache_directory, writable_cache
from .verilator import patched_environment, version
from .verilog import digest

__all__ = ["Runtime", "share"]


class Runtime:
    """An archive that a build links in place of objects of its own.

    They are the same for all designs, and take longer to compile than most of these. The first
    build with a recipe compiles them, and leaves them to the others.

    Parameters
    ----------
    recipe : str
        Options that they are compiled with.

    Raises
    ------
    CacheError
        If they are not there yet, and cannot be left.
    """

    #: Names of Verilator's own objects in a build.
    _OBJECTS = "verilated*.o"

    def __init__(self, *recipe: str) -> None:
        tools = (version(), _compiler(), platform.machine())
        self._archive = cache_directory() / f"runtime-{digest(*tools, *recipe)}.a"
        self._is_there = self._archive.exists()
        if not self._is_there:
            writable_cache()

    @property
    def arguments(self) -> list[str]:
        """More of Verilator's arguments."""
        return ["-LDFLAGS", shlex.quote(str(self._archive))] if self._is_there else []

    @property
    def make_flags(self) -> str:
        """More of make's flags."""
        return "VM_GLOBAL_FAST= VM_GLOBAL_SLOW=" if self._is_there else ""

    @contextmanager
    def lent(self, directory: Path) -> Iterator[list[str]]:
        """The archive to a build in this directory, in this process's own environment.

        Gives more of Verilator's arguments.
        """
        with patched_environment(self.make_flags):
            yield self.arguments
        self.keep(directory)

    def keep(self, directory: Path) -> None:
        """Take the objects of a build that had to compile them."""
        if self._is_there:
            return
        with tempfile.TemporaryDirectory(dir=self._archive.parent) as scratch:
            new = Path(scratch) / self._archive.name
            objects = sorted(map(str, directory.glob(self._OBJECTS)))
            subprocess.run(["ar", "rcs", str(new), *objects], check=True, capture_output=True)
            new.replace(self._archive)


def share(cache: Path) -> None:
    """Give the archives of this process's cache to another one."""
    cache.mkdir(parents=True)
    for archive in cache_directory().glob("runtime-*.a"):
        (cache / archive.name).symlink_to(archive.resolve())


@functools.cache
def _compiler() -> str:
    """Version of the C++ compiler."""
    asked = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True)
    return asked.stdout
