"""Which handlers a device has: one of its own, and one for each unit that was built."""

from amaranth.lib import wiring

from adagrain.hdl.granularity_unit.commands import TileCommands
from adagrain.hdl.precision_controller.commands import PrecisionCommands
from adagrain.hdl.region_manager.commands import RegionCommands
from adagrain.hdl.statistics.commands import StatisticsCommands
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Unit

from .system import SystemCommands

__all__ = ["handlers"]


def handlers(configuration: Configuration, *, starvation: int) -> dict[str, wiring.Component]:
    """By name, in the order of their groups."""
    found: dict[str, wiring.Component] = {
        "system": SystemCommands(configuration),
        "statistics": StatisticsCommands(configuration, starvation=starvation),
    }
    if Unit.REGION_MANAGER in configuration.units:
        found["regions"] = RegionCommands(configuration)
    if configuration.slices:
        found["tiles"] = TileCommands(configuration)
        found["precisions"] = PrecisionCommands(configuration)
    return found
