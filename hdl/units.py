"""The units that can be simulated and synthesised alone, by name."""

from collections.abc import Callable

from amaranth.lib.wiring import Component

from adagrain.models.configuration import Configuration
from adagrain.models.protocol import Unit

from .coprocessor import Coprocessor
from .link import Link
from .region_manager import RegionManager
from .statistics import Statistics

__all__ = ["UNITS"]

#: How each unit is built for a configuration.
UNITS: dict[str, Callable[[Configuration], Component]] = {
    "statistics": lambda c: Statistics(
        c.lanes, powers=c.powers, histogram=Unit.HISTOGRAM in c.units
    ),
    "region_manager": RegionManager,
    "link": Link,
    "coprocessor": Coprocessor,
}
