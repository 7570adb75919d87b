"""Verilog of components."""

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.stream.queue import Queue
from adagrain.sim.simulators.verilog import emit


class Toggle(wiring.Component):
    """A state machine whose output depends on its state alone."""

    go: In(1)  # type: ignore[valid-type]
    idle: Out(1)  # type: ignore[valid-type]

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.idle.eq(1)
                with m.If(self.go):
                    m.next = "BUSY"
            with m.State("BUSY"):
                m.next = "IDLE"
        return m


class Sliced(wiring.Component):
    """A part of its output depends on a condition, another one is a register as it is."""

    i: In(4)  # type: ignore[valid-type]
    o: Out(8)  # type: ignore[valid-type]

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        held = Signal(4)
        m.d.sync += held.eq(self.i)
        m.d.comb += self.o[:4].eq(held)
        with m.If(self.i == 3):
            m.d.comb += self.o[4:].eq(self.i)
        return m


def test_it_has_a_timescale_and_flat_ports_and_no_sources(tmp_path: Path) -> None:
    text = emit(Queue(8, depth=2), "dut", tmp_path).read_text()
    assert "`timescale 1ns/1ps" in text
    assert "input [7:0] i__payload;" in text
    assert "module dut(" in text
    assert "src" not in text


def test_a_file_that_is_right_stays(tmp_path: Path) -> None:
    path = emit(Queue(8, depth=2), "dut", tmp_path)
    before = path.stat().st_mtime_ns
    assert emit(Queue(8, depth=2), "dut", tmp_path).stat().st_mtime_ns == before
    emit(Queue(8, depth=3), "dut", tmp_path)
    assert path.stat().st_mtime_ns > before


def test_a_file_whose_writing_was_interrupted_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_half(path: Path, text: str) -> None:
        with path.open("w") as file:
            file.write(text[: len(text) // 2])
        raise KeyboardInterrupt

    text = "module dut();\n" + 9 * "  wire a;\n" + "endmodule\n"
    monkeypatch.setattr("adagrain.sim.simulators.verilog.to_verilog", lambda netlist: text)
    with monkeypatch.context() as context, pytest.raises(KeyboardInterrupt):
        context.setattr(Path, "write_text", write_half)
        emit(Toggle(), "dut", tmp_path)
    assert emit(Toggle(), "dut", tmp_path).read_text().endswith(text)


def test_combinational_blocks_run_at_the_start(tmp_path: Path) -> None:
    """A register that starts each of them changes after time 0's initialisation."""
    text = emit(Toggle(), "dut", tmp_path).read_text()
    assert text.count(" ; initial \\$auto$") == text.count("reg \\$auto$") > 0


def test_combinational_blocks_of_one_statement_run_at_the_start(tmp_path: Path) -> None:
    text = emit(Sliced(), "dut", tmp_path).read_text()
    assert text.count("always @* begin\n    if (") == text.count("always @*") > 0
    assert text.count("begin\n    if (_start_of_time_)") == 1
    assert text.count("initial _start_of_time_ <= 0") == 1


def test_directories_are_made(tmp_path: Path) -> None:
    assert emit(Toggle(), "dut", tmp_path / "a" / "b") == tmp_path / "a" / "b" / "dut.v"


def test_broken_components_raise(tmp_path: Path) -> None:
    class Broken(wiring.Component):
        o: Out(1)  # type: ignore[valid-type]

        def elaborate(self, platform: Any) -> Module:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        emit(Broken(), "dut", tmp_path)
    assert not list(tmp_path.iterdir())
