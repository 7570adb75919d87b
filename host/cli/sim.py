"""``adagrain sim``: the benches of the gateware."""

import typer

from .errors import told
from .usage import parsed

__all__ = ["sim"]


def sim(context: typer.Context) -> None:
    """Run the cocotb bench of a unit on Verilator or Icarus.

    Example: adagrain sim region_manager --simulator verilator --waves
    """
    with told():
        from adagrain.sim.__main__ import app
    with parsed(context.args):
        status = app(context.args, prog_name="adagrain sim", standalone_mode=False)
    raise typer.Exit(status)
