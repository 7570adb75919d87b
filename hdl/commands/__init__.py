"""What the coprocessor does with accepted requests: a dispatcher and one handler per unit."""

from .dispatcher import Dispatcher
from .regions import RegionCommands
from .statistics import StatisticsCommands
from .system import SystemCommands
from .tiles import TileCommands

__all__ = [
    "Dispatcher",
    "RegionCommands",
    "StatisticsCommands",
    "SystemCommands",
    "TileCommands",
]
