"""Shared libraries of compiled units: built once per design, kept in the user's cache."""

import ctypes
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from amaranth.back import rtlil
from amaranth.lib import wiring

from adagrain.sim import verilator
from adagrain.sim.lock import locked
from adagrain.sim.verilog import TIMESCALE, digest, to_verilog

from .ports import Ports, StreamPort

__all__ = ["BuildError", "cache_directory", "library"]

_TOP = "dut"
_WRAPPER = Path(__file__).with_name("wrapper.cc")
_FLAGS = (
    *("--cc", "--exe", "--build", "-j", "2"),
    *("-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert", "-Wno-fatal", "-Wno-lint"),
    *("-CFLAGS", "-std=c++20 -O2 -fPIC -fvisibility=hidden -fno-gnu-unique"),
    *("-LDFLAGS", "-shared -fPIC"),
)
#: Build time: so many seconds, and one more for so many characters of netlist.
_SECONDS, _CHARACTERS_PER_SECOND = 8, 100_000


class BuildError(RuntimeError):
    """Verilator or the C++ compiler failed; the message ends with what they said."""


def cache_directory() -> Path:
    """``$ADAGRAIN_CACHE``, or else ``adagrain`` in the user's cache directory."""
    if chosen := os.environ.get("ADAGRAIN_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adagrain"


def library(component: wiring.Component, ports: Ports, name: str, *, waves: bool) -> ctypes.CDLL:
    """The compiled component; built, with a message, if the cache has none of this design.

    Processes that want the same library at the same time wait for the first one to build it.

    Parameters
    ----------
    name : str
        What people call the unit; it begins the name of the file.
    waves : bool
        Whether it can record waves, which makes it slower.

    Raises
    ------
    verilator.ToolMissingError
        If a program that the build needs is missing.
    BuildError
        If the build fails.
    """
    netlist = rtlil.convert(component, name=_TOP, emit_src=False)
    header = _ports_header(ports)
    flags = [*_FLAGS, f"--trace-{verilator.waves_format()}"] if waves else list(_FLAGS)
    versions = (verilator.version(), platform.machine())
    key = digest(netlist, header, _WRAPPER.read_text(), *flags, *versions)
    path = cache_directory() / f"{name}-{key}.so"
    if not path.exists():
        with locked(path.parent):
            if not path.exists():
                _build(netlist, header, flags, name, path)
    return ctypes.CDLL(str(path))


def _build(netlist: str, header: str, flags: list[str], name: str, path: Path) -> None:
    environment = verilator.environment()
    seconds = _SECONDS + len(netlist) // _CHARACTERS_PER_SECOND
    print(f"building the simulated device {name} (about {seconds} s, once)", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        directory = Path(scratch)
        (directory / "dut.v").write_text(f"{TIMESCALE}\n{to_verilog(netlist)}")
        (directory / "ports.h").write_text(header)
        (directory / _WRAPPER.name).write_text(_WRAPPER.read_text())
        placement = ("--top-module", _TOP, "-Mdir", ".", "-o", "dut.so")
        outcome = subprocess.run(
            ["verilator", *flags, *placement, "dut.v", _WRAPPER.name],
            cwd=directory,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if outcome.returncode:
            said = (outcome.stdout + outcome.stderr)[-4000:]
            raise BuildError(f"simulated device {name} could not be built:\n{said}")
        (directory / "dut.so").replace(path)


def _ports_header(ports: Ports) -> str:
    lines = [_stream_line("INPUT_STREAM", port) for port in ports.inputs]
    lines += [_stream_line("OUTPUT_STREAM", port) for port in ports.outputs]
    lines += [f"PORT({_cpp_name(port.name)}, {port.width})" for port in ports.others]
    return "".join(f"{line}\n" for line in lines)


def _stream_line(macro: str, port: StreamPort) -> str:
    members = [_cpp_name(f"{port.name}__{member}") for member in ("payload", "valid", "ready")]
    return f"{macro}({', '.join(members)}, {port.width})"


def _cpp_name(name: str) -> str:
    """The name that Verilator gives a port in C++, where two underscores are reserved."""
    return name.replace("__", "___05F")
