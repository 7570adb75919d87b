"""Synthesis of any unit with Yosys, for the cells of a board's FPGA.

What comes out is the cell count after technology mapping, before place and route: no clock rate.
"""

import json
import tempfile
from pathlib import Path

from amaranth.back import rtlil
from amaranth.lib.wiring import Component

from adagrain.hdl.arithmetic.dsp import Target
from adagrain.hdl.boards import BOARDS

from .families import FAMILIES
from .tools import ToolError, run, written
from .units import check_unit, units

__all__ = ["synthesise"]


def synthesise(unit: str, board: str) -> dict[str, int]:
    """Resources that a unit takes on a board, by name, carry chains counted as LUTs.

    Parameters
    ----------
    unit : str
        A key of :func:`adagrain.hdl.flow.units.units`.
    board : str
        A key of :data:`BOARDS`.

    Raises
    ------
    ValueError
        If unit or board is unknown.
    ToolError
        If Yosys is missing, fails or writes nothing.
    """
    check_unit(unit, board)
    family = FAMILIES[BOARDS[board].family]
    component = units()[unit](BOARDS[board])
    usage = family.used(_cell_counts(component, Target(BOARDS[board].family)))
    if not usage["LUT"]:
        raise ToolError(f"synthesis of {unit} left no logic: its ports are not connected")
    return usage


def _cell_counts(component: Component, target: Target) -> dict[str, int]:
    family = FAMILIES[target.family]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "top.il").write_text(rtlil.convert(component, platform=target, emit_src=False))
        script = f"read_rtlil top.il; {family.script('top')}; tee -q -o stat.json stat -json"
        run("YOSYS", ["-q", "-p", script], folder)
        statistics = json.loads(written(folder / "stat.json").read_text())
    return dict(statistics["design"]["num_cells_by_type"])
