"""Verilog of components."""

import hashlib
import re
from pathlib import Path

from amaranth.back import verilog
from amaranth.lib import wiring

from .netlist import convert, gate_level, recipe_of

__all__ = ["emit"]

TIMESCALE = "`timescale 1ns/1ps"

#: Register that starts combinational processes; no identifier of Amaranth's looks like that.
_START = "_start_of_time_"


def emit(
    component: wiring.Component, name: str, directory: Path, family: str | None = None
) -> Path:
    """Write a component as ``directory/name.v``.

    The text depends on nothing but the design: no source lines, no paths, no dates. It starts with
    the digest of the netlist, and a file that already has the right one stays untouched, which
    spares the slow step from netlist to Verilog. Members of the signature become ports named by
    their path, ``i__payload``, beside ``clk`` and ``rst``.

    Parameters
    ----------
    component : wiring.Component
        What to write.
    name : str
        Of the top module and the file.
    directory : Path
        Where the file goes.
    family : str or None
        FPGA whose netlist is written instead, as :func:`gate_level` makes it.

    Returns
    -------
    Path
        The file.
    """
    path = directory / f"{name}.v"
    netlist = convert(component, name, family)
    origin = digest(netlist, *recipe_of(family), Path(__file__).read_text())
    heading = f"// netlist {origin}\n{TIMESCALE}\n"
    if not path.exists() or not path.read_text().startswith(heading):
        directory.mkdir(parents=True, exist_ok=True)
        text = gate_level(netlist, name, family) if family else to_verilog(netlist)
        replace_text(path, heading + _start_combinational(text))
    return path


def to_verilog(netlist: str) -> str:
    """Verilog of an RTLIL netlist, as :func:`amaranth.back.verilog.convert` writes it."""
    return verilog._convert_rtlil_text(netlist, strip_internal_attrs=True)


def _start_combinational(text: str) -> str:
    """Make every ``always @*`` run at time 0.

    Yosys has the ones with several statements depend on a register that is declared with its
    initial value. That was an event in Verilog, but is none in SystemVerilog, where Icarus would
    leave a state machine's outputs undefined until its first transition. The ones with a single
    statement depend on their inputs alone, whose initial values are no events either.
    """
    text = re.sub(r"reg (\\\$auto\S+:dump_module\S+) +=", r"reg \1 ; initial \1 <=", text)
    return re.sub(r"^module .*?^endmodule", _start_single, text, flags=re.DOTALL | re.MULTILINE)


def _start_single(module: re.Match[str]) -> str:
    """A module in which processes of one statement depend on a register that is set at time 0."""
    text, found = re.subn(
        r"always @\*\n +(\S.*;)\n(?! *else\b)",
        rf"always @* begin\n    if ({_START}) begin end\n    \1\n  end\n",
        module[0],
    )
    if not found:
        return text
    heading, _, body = text.partition(";\n")
    return f"{heading};\n  reg {_START}; initial {_START} <= 0;\n{body}"


def digest(*texts: str) -> str:
    """A short name for the contents of some texts."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:20]


def replace_text(path: Path, text: str) -> None:
    """Write a file under another name, then give it its name: no half of it is ever there."""
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.write_text(text)
    temporary.replace(path)
