"""From gateware to cells and bitstreams, with the open tools from the package index."""

from .alone import place_alone
from .bitstream import SEEDS, Bitstream, build
from .report import Report
from .synthesis import synthesise
from .tools import ToolError

__all__ = ["SEEDS", "Bitstream", "Report", "ToolError", "build", "place_alone", "synthesise"]
