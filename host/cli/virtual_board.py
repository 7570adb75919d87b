"""``adagrain virtual-board``: a simulated board on a pseudo-terminal."""

from typing import Annotated

import typer
from rich.console import Console

from .devices import Netlist
from .errors import told

__all__ = ["virtual_board"]


def virtual_board(
    preset: Annotated[
        str, typer.Option(help="Device preset: tiny, small, full, granular, wide or whole.")
    ] = "full",
    netlist: Netlist = None,
) -> None:
    """Simulate a board down to its serial pins, and print its port; Ctrl-C ends it.

    Example: adagrain virtual-board --preset small
    """
    from adagrain.models.interface.configuration import configuration

    console = Console()
    with told():
        from adagrain.sim.virtual_board import VirtualBoard

        with VirtualBoard(configuration(preset), netlist=netlist) as board:
            try:
                console.print(f"serial:{board.port}", soft_wrap=True)
                console.print(board.backend)
                console.print(
                    f"open it with device preset {preset!r}, at any bit rate; Ctrl-C ends it"
                )
                board.join()
            except KeyboardInterrupt:
                console.print("the board is gone")
