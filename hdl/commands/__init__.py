"""What the coprocessor does with accepted requests: a dispatcher and one handler per unit."""

from .dispatcher import Dispatcher
from .precisions import PrecisionCommands
from .regions import RegionCommands
from .statistics import StatisticsCommands
from .system import SystemCommands
from .tiles import TileCommands

__all__ = [
    "Dispatcher",
    "PrecisionCommands",
    "RegionCommands",
    "StatisticsCommands",
    "SystemCommands",
    "TileCommands",
]
