"""``virtual:`` - a simulated board, reached through a pseudo-terminal like a real one."""

from adagrain.models.interface.configuration import Configuration
from adagrain.sim.virtual_board import VirtualBoard

from .serial_port import SerialTransport

__all__ = ["VirtualTransport"]


class VirtualTransport(SerialTransport):
    """A virtual board of its own, and the serial driver on its port.

    Parameters
    ----------
    configuration : Configuration
        What the board is built with.
    netlist : str or None
        FPGA family: simulate what synthesis for it makes of the board.
    """

    def __init__(self, configuration: Configuration, *, netlist: str | None = None) -> None:
        self._board = VirtualBoard(configuration, netlist=netlist)
        try:
            super().__init__(self._board.port, configuration)
        except BaseException:
            self._board.close()
            raise
        self.backend = f"virtual board: {self._board.backend}, on {self._path}"

    def _hold_low(self) -> None:
        self._board.send_break()  # a pseudo-terminal knows none

    def close(self) -> None:
        super().close()
        self._board.close()
