"""What place and route makes of the ECP5's PLL, to the words of its configuration."""

import re
from pathlib import Path

import pytest
from amaranth.build import Platform
from amaranth.hdl import ClockDomain, Elaboratable, Module, Signal

from adagrain.hdl.boards import BOARDS, Board
from adagrain.hdl.boards.pins import driven
from adagrain.hdl.flow import build

#: Words of a PLL that `ecppll` configures for the same clocks; where they are 0 it does not lock.
LOOP = {
    "ICP_CURRENT": "01100",
    "LPF_RESISTOR": "0001000",
    "MFG_ENABLE_FILTEROPAMP": "1",
    "MFG_GMCREF_SEL": "10",
}


class Blinker(Elaboratable):
    """Counts cycles of a board's clock."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def elaborate(self, platform: Platform) -> Module:
        m = Module()
        m.domains.sync = domain = ClockDomain(reset_less=True)
        m.submodules.clocking = clocking = self._board.clocking(domain)
        count = Signal(24)
        m.d.sync += count.eq(count + 1)
        led = platform.request(*self._board.leds[0], dir="-")
        m.d.comb += driven(m, led).eq(count[-1] ^ clocking.restart)
        return m


def test_charge_pump_and_loop_filter_are_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adagrain.hdl.flow.bitstream.Top", Blinker)
    built = build(BOARDS["ulx3s-25f"], tmp_path)
    assert built.report.meets_timing
    words = dict(re.findall(r"word: (\w+) (\d+)", (tmp_path / "top.config").read_text()))
    assert LOOP.items() <= words.items()
