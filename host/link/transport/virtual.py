"""``virtual:`` - a simulated board, reached through a pseudo-terminal like a real one."""

from adagrain.models.interface.configuration import Configuration
from adagrain.sim.simulators.verilator import version
from adagrain.sim.virtual_board import VirtualBoard

from .serial_port import SerialTransport

__all__ = ["VirtualTransport"]


class VirtualTransport(SerialTransport):
    """A virtual board of its own, and the serial driver on its port.

    Parameters
    ----------
    configuration : Configuration
        What the board is built with.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._board = VirtualBoard(configuration)
        super().__init__(self._board.port, configuration)
        self.backend = f"virtual board, RTL compiled by Verilator {version()}, on {self._path}"

    def _hold_low(self) -> None:
        self._board.send_break()  # a pseudo-terminal knows none

    def close(self) -> None:
        super().close()
        self._board.close()
