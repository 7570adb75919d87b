"""Top level of a board."""

from amaranth.build import Platform
from amaranth.hdl import ClockDomain, Elaboratable, Module

from adagrain.hdl.checks import check_kind
from adagrain.hdl.device.serial_coprocessor import SerialCoprocessor
from adagrain.models.interface.configuration import configuration

from .board import Board
from .pins import driven, sensed

__all__ = ["Top"]


class Top(Elaboratable):
    """The device, the board's clock, and its pins.

    Parameters
    ----------
    board : Board
        Whose.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, board: Board) -> None:
        check_kind("board", board, Board)
        self._board = board

    def elaborate(self, platform: Platform) -> Module:
        m = Module()
        board = self._board
        m.submodules.device = device = SerialCoprocessor(
            configuration(board.preset), clock=board.clock, baud=board.baud
        )
        if board.clocking is not None:
            m.domains.sync = domain = ClockDomain(reset_less=True)
            m.submodules.clocking = clocking = board.clocking(domain)
            m.d.comb += device.restart.eq(clocking.restart)
        uart = platform.request("uart", dir="-")
        m.d.comb += [
            device.rx.eq(sensed(m, uart.rx)),
            driven(m, uart.tx).eq(device.tx),
        ]
        for (name, number), (led, _) in zip(board.leds, device.leds.shape(), strict=True):
            pin = platform.request(name, number, dir="-")
            m.d.comb += driven(m, pin).eq(device.leds[led])
        return m
