"""What is built for a board."""

from amaranth.build import Platform
from amaranth.hdl import ClockDomain, Elaboratable, Module

from adagrain.hdl.serial_coprocessor import SerialCoprocessor
from adagrain.models.configuration import configuration

from .board import Board

__all__ = ["Top"]


class Top(Elaboratable):
    """The device, the board's clock, and its pins.

    Parameters
    ----------
    board : Board
        Whose.
    """

    def __init__(self, board: Board) -> None:
        self._board = board

    def elaborate(self, platform: Platform) -> Module:
        m = Module()
        board = self._board
        if board.clocking is not None:
            m.domains.sync = domain = ClockDomain()
            m.submodules.clocking = board.clocking(domain)
        m.submodules.device = device = SerialCoprocessor(
            configuration(board.preset), clock=board.clock, baud=board.baud
        )
        rx, tx, lights = board.pins(m, platform)
        m.d.comb += [device.rx.eq(rx), tx.eq(device.tx)]
        for light, (name, _) in zip(lights, device.lights.shape(), strict=True):
            m.d.comb += light.eq(device.lights[name])
        return m
