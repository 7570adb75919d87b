"""Place and route of a unit alone: how fast it is where nothing else is in its way."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.dsp import Target
from adagrain.hdl.boards import BOARDS
from adagrain.hdl.checks import check_kind

from .bitstream import SEEDS
from .families import FAMILIES
from .report import Report, read_report
from .tools import run, written
from .units import check_unit, units

__all__ = ["Harness", "place_alone"]


class Harness(wiring.Component):
    """A unit between registers: a pin is shifted into its inputs, its outputs fold into a pin.

    Parameters
    ----------
    unit : wiring.Component
        What is measured; all its ports get registers.

    Members
    -------
    i : ``In(1)``
        Bits for the inputs.
    o : ``Out(1)``
        Parity of all outputs.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, unit: wiring.Component) -> None:
        check_kind("unit", unit, wiring.Component)
        self._unit = unit
        super().__init__({"i": In(1), "o": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = self._unit
        inputs: list[Value] = []
        outputs: list[Value] = []
        for _, member, value in self._unit.signature.flatten(self._unit):
            (inputs if member.flow is In else outputs).append(Value.cast(value))
        shifted, caught = Signal(len(Cat(inputs))), Signal(len(Cat(outputs)))
        m.d.sync += [
            shifted.eq(Cat(self.i, shifted)),
            caught.eq(Cat(outputs)),
            self.o.eq(caught.xor()),
        ]
        m.d.comb += Cat(inputs).eq(shifted)
        return m


def place_alone(
    unit: str,
    board: str,
    megahertz: float,
    *,
    seeds: Sequence[int] = SEEDS,
    progress: Callable[[str], None] = lambda text: None,
) -> list[Report]:
    """Place and route a unit alone on a board's FPGA, once with each seed.

    Parameters
    ----------
    unit : str
        A key of :func:`adagrain.hdl.flow.units.units`.
    board : str
        A key of :data:`BOARDS`.
    megahertz : float
        Clock that is asked for.
    progress : callable
        Called with what is being done.

    Raises
    ------
    ValueError
        If unit or board is unknown, or the FPGA's family cannot be placed without a board.
    ToolError
        If a program is missing, fails or writes nothing, as nextpnr fails where the unit does not
        fit.
    """
    check_unit(unit, board)
    family = FAMILIES[BOARDS[board].family]
    if family.place is None:
        placed = ", ".join(name for name, row in BOARDS.items() if FAMILIES[row.family].place)
        raise ValueError(f"board must be one of {placed} to place a unit alone, not {board!r}")
    program, *arguments = family.place
    target = Target(BOARDS[board].family)
    reports = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        progress(f"synthesising {unit} for {board}")
        component = units()[unit](BOARDS[board])
        design = rtlil.convert(Harness(component), platform=target, emit_src=False)
        (folder / "top.il").write_text(design)
        script = f"read_rtlil top.il; {family.script('top')}; write_json top.json"
        run("YOSYS", ["-q", "-p", script], folder)
        for seed in seeds:
            progress(f"placing and routing {unit} alone, seed {seed}")
            options = ["--json", "top.json", "--report", "report.json", "--timing-allow-fail"]
            asked = ["--freq", str(megahertz), "--seed", str(seed)]
            run(program, [*arguments, *BOARDS[board].part, *options, *asked], folder)
            report = written(folder / "report.json")
            reports.append(read_report(report, BOARDS[board].family, seed))
    return reports
