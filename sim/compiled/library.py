"""Shared libraries of compiled units: built once per design, kept in the user's cache."""

import ctypes
import platform
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import amaranth
from amaranth.lib import wiring
from filelock import FileLock

import adagrain.hdl
import adagrain.models
from adagrain.models.interface.units import UNITS, Unit
from adagrain.sim.simulators import verilator
from adagrain.sim.simulators.cache import cache_directory, writable_cache
from adagrain.sim.simulators.netlist import check_family, convert, gate_level, recipe_of
from adagrain.sim.simulators.runtime import Runtime
from adagrain.sim.simulators.verilog import TIMESCALE, digest, to_verilog

from .ports import Ports, StreamPort

__all__ = ["BuildError", "library"]

_TOP = "dut"
#: The clock loop, and what it includes beside what is made for each unit.
_WRAPPER, _COMMON = (Path(__file__).with_name(name) for name in ("wrapper.cc", "common.h"))
_FLAGS = (
    *("--cc", "--exe", "--build", "-j", "2"),
    *("-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert", "-Wno-fatal", "-Wno-lint"),
    *("-CFLAGS", "-std=c++20 -fPIC -fvisibility=hidden -fno-gnu-unique"),
    *("-LDFLAGS", "-shared -fPIC"),
)
#: Build time: so many seconds, and one more for so many characters of Verilog.
_SECONDS, _CHARACTERS_PER_SECOND = 8, 50_000


class BuildError(RuntimeError):
    """Verilator or the C++ compiler failed; the message ends with what they said."""


def library(
    component: wiring.Component,
    ports: Ports,
    name: str,
    *,
    waves: bool,
    made_from: str | None,
    family: str | None = None,
) -> ctypes.CDLL:
    """The compiled component; built, with a message, if the cache has none of this design.

    Processes that want the same library at the same time wait for the first one to build it.

    Parameters
    ----------
    name : str
        What people call the unit; it begins the name of the file.
    waves : bool
        Whether it can record waves, which makes it slower.
    family : str or None
        FPGA whose netlist is compiled instead.
    made_from : str or None
        As in :class:`CompiledUnit`. The cache then has a link from this text, and the gateware's
        source code, to the library, unless that has changed since it was imported.

    Raises
    ------
    ValueError
        If there are no models of the family's cells.
    verilator.ToolMissingError
        If a program that the build needs is missing.
    CacheError
        If the cache cannot be written.
    BuildError
        If the build fails.
    """
    component._MustUse__used = True  # or Amaranth warns of one that is cached or refused
    if family:
        check_family(family)
    header = _ports_header(ports)
    flags = [*_FLAGS, f"--trace-{verilator.waves_format()}"] if waves else list(_FLAGS)
    tools = (verilator.version(), platform.machine())
    sources = (header, _WRAPPER.read_text(), _COMMON.read_text())
    recipe = (*sources, *flags, *tools, *recipe_of(family))
    code = _source_code(component) if made_from else None
    link = _cached(name, made_from, code, *recipe) if made_from and code else None
    if link and link.exists():
        return ctypes.CDLL(str(link))
    verilator.require()  # before the netlist is made, which takes seconds
    netlist = convert(component, _TOP, family)
    path = _cached(name, netlist, *recipe)
    if not path.exists():
        with FileLock(writable_cache() / f"{path.name}.lock"):
            if not path.exists():
                text = gate_level(netlist, _TOP, family) if family else to_verilog(netlist)
                _build(text, header, flags, name, path)
    if link:
        with suppress(OSError):  # another process was first, or nothing can be written
            link.symlink_to(path.name)
    return ctypes.CDLL(str(path))


def _cached(name: str, *contents: str) -> Path:
    return cache_directory() / f"{name}-{digest(*contents)}.so"


def _source_code(component: wiring.Component) -> str | None:
    """All that it is made by: its own file, the project's sources, and those of foreign units.

    None if one of them has changed since this process began to import the project: the component
    may be of what was there before.
    """
    folders = [Path(package.__path__[0]) for package in (adagrain.models, adagrain.hdl)]
    folders += {folder for unit in UNITS.values() if (folder := _foreign(unit))}
    files = sorted(file for folder in folders for file in folder.rglob("*.py"))
    if own := getattr(sys.modules[type(component).__module__], "__file__", None):
        files.append(Path(own))
    code = "".join([amaranth.__version__, *(file.read_text() for file in files)])
    return None if any(_changed(file) > adagrain._IMPORTED for file in files) else code


def _changed(file: Path) -> float:
    """Time from which a file is as it is; a copy may have its original's time of modification."""
    status = file.stat()
    return max(status.st_mtime, status.st_ctime)


def _foreign(unit: Unit) -> Path | None:
    """The folder of a unit's gateware, where it is not of the project."""
    module = (unit.gateware or unit.core).partition(":")[0]
    found = find_spec(module) if module and not module.startswith("adagrain.") else None
    return Path(found.origin).parent if found and found.origin else None


def _build(verilog: str, header: str, flags: list[str], name: str, path: Path) -> None:
    runtime = Runtime(*flags)
    environment = verilator.environment(runtime.make_flags)
    seconds = _SECONDS + len(verilog) // _CHARACTERS_PER_SECOND
    print(f"building the simulated device {name} (about {seconds} s, once)", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        directory = Path(scratch)
        (directory / "dut.v").write_text(f"{TIMESCALE}\n{verilog}")
        (directory / "ports.h").write_text(header)
        for source in (_WRAPPER, _COMMON):
            (directory / source.name).write_text(source.read_text())
        placement = ("--top-module", _TOP, "-Mdir", ".", "-o", "dut.so")
        outcome = subprocess.run(
            ["verilator", *flags, *runtime.lend(directory), *placement, "dut.v", _WRAPPER.name],
            cwd=directory,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if outcome.returncode:
            said = (outcome.stdout + outcome.stderr)[-4000:]
            raise BuildError(f"simulated device {name} could not be built:\n{said}")
        runtime.keep(directory)
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
