"""Verilator's own sources and headers, compiled once for all designs."""

import functools
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .cache import cache_directory, writable_cache
from .verilator import environment, patched_environment, version
from .verilog import digest

__all__ = ["Runtime", "share"]

#: What all of a design's files begin with; code that runs once is not worth being optimised.
_HEADER = """\
#include "verilated.h"
#undef VL_ATTR_COLD
#define VL_ATTR_COLD __attribute__((cold, optimize("O0")))
"""


class Runtime:
    """Objects that a build links in place of its own, and a header that is compiled already.

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

    #: Names of the header: as text, and as make's rules compile it for fast and for slow code.
    _TEXT, _FAST, _SLOW = "first.h", "first.h.fast", "first.h.slow"

    def __init__(self, *recipe: str) -> None:
        tools = (version(), _compiler(), platform.machine(), _HEADER)
        self._folder = cache_directory().absolute() / f"runtime-{digest(*tools, *recipe)}"
        self._is_there = self._folder.exists()
        if not self._is_there:
            writable_cache()

    @property
    def make_flags(self) -> str:
        """More of make's flags: it compiles nothing that is there, nor a header of the design's."""
        if not self._is_there:
            return ""
        header = f"VK_PCH_H={self._TEXT} VK_PCH_I_FAST= VK_PCH_I_SLOW="
        return f"VM_GLOBAL_FAST= VM_GLOBAL_SLOW= {header}"

    def lend(self, directory: Path) -> list[str]:
        """Bring the header to a build; more of Verilator's arguments for that."""
        if not self._is_there:
            return []
        self._clear(directory)
        for header in self._folder.glob(f"{self._TEXT}*"):
            (directory / header.name).symlink_to(header)
        archive = shlex.quote(str(self._folder / "verilated.a"))
        return ["-CFLAGS", f"-include {self._FAST}", "-LDFLAGS", archive]

    @contextmanager
    def lent(self, directory: Path) -> Iterator[list[str]]:
        """All that to a build in this directory, in this process's own environment.

        Gives more of Verilator's arguments.
        """
        with patched_environment(self.make_flags):
            yield self.lend(directory)
        self.keep(directory)

    def keep(self, directory: Path) -> None:
        """Take the objects of a build that had to compile them, and compile the header like it."""
        if self._is_there:
            return
        self._clear(directory)
        for name in (self._TEXT, self._FAST):
            (directory / name).write_text(_HEADER)
        makefile = next(directory.glob("*_classes.mk")).name.replace("_classes", "")
        _quietly("make", "-f", makefile, f"{self._FAST}.gch", cwd=directory, env=environment())
        with tempfile.TemporaryDirectory(dir=self._folder.parent) as scratch:
            new = Path(scratch) / self._folder.name
            new.mkdir()
            objects = sorted(map(str, directory.glob(self._OBJECTS)))
            _quietly("ar", "rcs", str(new / "verilated.a"), *objects)
            for name in (self._TEXT, self._FAST, f"{self._FAST}.gch"):
                shutil.move(directory / name, new / name)
            (new / f"{self._SLOW}.gch").symlink_to(f"{self._FAST}.gch")
            with suppress(OSError):  # another process was first
                new.rename(self._folder)

    def _clear(self, directory: Path) -> None:
        """Remove what an earlier build in a directory was lent, from a cache that may be gone."""
        for header in directory.glob(f"{self._TEXT}*"):
            header.unlink()


def share(cache: Path) -> None:
    """Give what this process's cache has for all designs to another one."""
    cache.mkdir(parents=True)
    for folder in cache_directory().glob("runtime-*"):
        (cache / folder.name).symlink_to(folder.resolve())


@functools.cache
def _compiler() -> str:
    """Version of the C++ compiler."""
    asked = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True)
    return asked.stdout


def _quietly(*command: str, **options: Any) -> None:
    subprocess.run(command, check=True, capture_output=True, **options)
