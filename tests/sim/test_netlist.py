"""Gate level: the benches of units, and the self-test, on what synthesis makes of them."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from amaranth.hdl import Instance, Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from typer.testing import CliRunner

import adagrain
from adagrain.hdl.arithmetic.dsp import Products
from adagrain.hdl.flow.families import FAMILIES
from adagrain.hdl.flow.tools import ToolError
from adagrain.hdl.stream.queue import Queue
from adagrain.models.interface.units import UNITS
from adagrain.sim.__main__ import app
from adagrain.sim.compiled import CompiledUnit
from adagrain.sim.simulators import runner
from adagrain.sim.simulators.netlist import convert, gate_level
from adagrain.sim.simulators.runtime import share
from adagrain.sim.simulators.verilog import emit

pytestmark = pytest.mark.skipif(
    runner.missing("verilator") is not None, reason=str(runner.missing("verilator"))
)

#: A variant of each unit for ECP5; what is in `tiny`, and integers' units, for the others.
RUNS = [
    *((unit, variant, "ecp5") for unit, variant in (
        ("queue", "packet"), ("uart", "odd"), ("link", "small"), ("statistics", "small"),
        ("region_manager", "small"), ("coprocessor", "small"), ("coprocessor", "codec"),
        ("float", "multiply_fp32"),
        ("slice", "all_modes"), ("dot_product", "two_sums"), ("rescale", "numbers"),
        ("rescale", "rows"),
        ("granularity_unit", "one_slice"), ("precision_controller", "two_channel_groups"),
        ("tensor_input", "two_lanes"), ("decoder", "two_lanes"), ("encoder", "two_lanes"),
        ("mask", "two_lanes"),
    )),
    *((unit, variant, family) for family in ("ice40", "gowin") for unit, variant in (
        ("queue", "packet"), ("uart", "odd"), ("link", "tiny"), ("statistics", "tiny"),
        ("coprocessor", "tiny"), ("dot_product", "eight_of_integers"),
        ("granularity_unit", "integers"),
    )),
    *((unit.name, runner.variants(unit.name)[0], "ecp5") for unit in UNITS.values() if unit.core),
]  # fmt: skip

#: Those that CI runs.
QUICK = {("queue", "packet", "ecp5"), ("uart", "odd", "ice40")}


class Fields(wiring.Component):
    """A register ``x`` and one that bears the name of element 1 of an array ``x``."""

    bits: In(4)
    field: In(4)
    both: Out(4)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        x, element = Signal(4, name="x"), Signal(4, name="x[1]")
        m.d.sync += [x.eq(self.bits), element.eq(self.field)]
        m.d.sync += self.both.eq(x ^ element[0].replicate(4))
        return m


class ResetRead(wiring.Component):
    """A memory and a register with a reset behind it, which synthesis makes one block RAM of."""

    def __init__(self) -> None:
        ports = {"to": In(10), "write": In(1), "data": In(18), "of": In(10), "read": Out(18)}
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = memory.Memory(shape=18, depth=1024, init=[])
        write, read = words.write_port(), words.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(self.to),
            write.data.eq(self.data),
            write.en.eq(self.write),
            read.addr.eq(self.of),
        ]
        m.d.sync += self.read.eq(read.data)
        return m


class Cell(wiring.Component):
    """A cell with a driven pin.

    Parameters
    ----------
    kind, pin, output : str
        The cell, its input, and an output, so that it is kept.
    **parameters : str
        Those of the cell.
    """

    def __init__(self, kind: str, pin: str, output: str, **parameters: str) -> None:
        self._kind, self._pins = kind, (pin, output)
        self._parameters = {f"p_{name}": value for name, value in parameters.items()}
        super().__init__({"i": In(1), "o": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pin, output = self._pins
        pins = {f"i_{pin}": self.i, f"o_{output}": self.o}
        m.submodules.cell = Instance(self._kind, **self._parameters, **pins)
        return m


@pytest.mark.parametrize(
    ("unit", "variant", "family"),
    [pytest.param(*r, marks=() if r in QUICK else pytest.mark.full) for r in RUNS],
)
def test_bench_on_the_netlist(unit: str, variant: str, family: str) -> None:
    assert runner.run(unit, variant, netlist=family).tests > 0


def test_every_unit_is_run() -> None:
    assert {unit for unit, _, family in RUNS if family == "ecp5"} == set(runner.units())


@pytest.mark.full
@pytest.mark.parametrize(
    ("url", "preset", "family"),
    [
        ("sim:", "small", "ecp5"),
        ("sim:", "tiny", "ice40"),
        ("virtual:", "tiny", "ice40"),
        ("virtual:", "tiny", "gowin"),
    ],
)
def test_selftest_on_the_netlist(url: str, preset: str, family: str) -> None:
    with adagrain.open_device(url, preset, netlist=family) as device:
        assert f"netlist for {family}, compiled by Verilator" in device.backend
        assert device.selftest().passed


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="must be one of ecp5, ice40, gowin, not 'nexus'"):
        gate_level("", "top", "nexus")
    with pytest.raises(ValueError, match="simulator must be verilator for a netlist, not 'icarus'"):
        runner.run("queue", "packet", "icarus", netlist="ecp5")


def test_multipliers_that_are_instantiated_stay_what_they_are(tmp_path: Path) -> None:
    text = emit(Products(8, 2), "top", tmp_path, "ice40").read_text()
    cell = text[text.index("SB_MAC16 #(") : text.index("module SB_MAC16")]
    assert ".MODE_8x8(1'h1)" in cell
    assert ".A_REG(1'h1)" in cell


def test_a_netlist_consists_of_cells(tmp_path: Path) -> None:
    text = emit(Queue(8, depth=16), "top", tmp_path, "ecp5").read_text()
    netlist = text[text.index("module \\top.netlist") :]
    assert "TRELLIS_FF" in netlist[: netlist.index("endmodule")]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_field_is_not_a_bit_of_the_same_name(family: str) -> None:
    with CompiledUnit(Fields(), "fields", family=family) as unit:
        for bits, field in ((2, 0), (0, 1), (5, 3)):
            unit.set("bits", bits)
            unit.set("field", field)
            unit.step(2)
            assert unit.get("both") == bits ^ -(field & 1) & 0xF


def test_a_netlist_of_another_script_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share(tmp_path / "cache")
    monkeypatch.setenv("ADAGRAIN_CACHE", str(tmp_path / "cache"))
    written = []
    for script in (FAMILIES["ecp5"], replace(FAMILIES["ecp5"], after="rename -hide w:both*")):
        monkeypatch.setitem(FAMILIES, "ecp5", script)
        written.append(emit(Fields(), "top", tmp_path, "ecp5").read_text())
        CompiledUnit(Fields(), "fields", family="ecp5", made_from="fields").close()
    assert written[0] != written[1]
    built = [path for path in (tmp_path / "cache").glob("*.so") if not path.is_symlink()]
    assert len(built) == 2


@pytest.mark.parametrize(("family", "pin"), [("ecp5", "RST"), ("gowin", "RESET")])
def test_a_reset_clears_what_a_block_ram_reads(tmp_path: Path, family: str, pin: str) -> None:
    text = emit(ResetRead(), "top", tmp_path, family).read_text()
    assert re.search(rf"\.{pin}[AB]\(rst\w*\)", text)
    with CompiledUnit(ResetRead(), "reset_read", family=family) as unit:
        for name, value in (("to", 3), ("of", 3), ("data", 0x1234), ("write", 1)):
            unit.set(name, value)
        unit.step(1)
        unit.set("write", 0)
        unit.step(2)
        assert unit.get("read") == 0x1234
        unit.reset()
        assert unit.get("read") == 0


@pytest.mark.parametrize(
    ("kind", "pin", "output", "parameters"),
    [
        ("DP16KD", "CSA1", "DOA0", {}),
        ("DP16KD", "RSTA", "DOA0", {"RESETMODE": "ASYNC"}),
        ("MULT18X18D", "RST0", "P0", {}),
    ],
)
def test_a_pin_that_a_model_does_not_look_at_is_0(
    kind: str, pin: str, output: str, parameters: dict[str, str]
) -> None:
    netlist = convert(Cell(kind, pin, output, **parameters), "top", "ecp5")
    with pytest.raises(ToolError, match=rf"^{pin} of {kind} must be 0 .* not in cell"):
        gate_level(netlist, "top", "ecp5")


def test_a_yosys_that_writes_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YOSYS", "true")
    with pytest.raises(ToolError, match="cells must be written, but the programs ended without it"):
        gate_level("", "top", "ecp5")


def test_a_missing_yosys_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(runner, "BUILD", tmp_path)
    monkeypatch.setenv("YOSYS", "no-yosys")
    outcome = CliRunner().invoke(app, ["queue", "--variant", "single", "--netlist", "ecp5"])
    assert outcome.exit_code == 2
    assert outcome.output.startswith("error: no-yosys is missing; install the extra: pip install")


def test_a_black_box_is_no_model() -> None:
    """A simulator would take it, and its outputs would be 0."""
    with pytest.raises(RuntimeError, match="ODDR"):
        CompiledUnit(Cell("ODDR", "D0", "Q0"), "black_box", family="gowin")
