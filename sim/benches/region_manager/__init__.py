"""Variants of the Region Manager that its bench runs on."""

from adagrain.hdl.region_manager import RegionManager
from adagrain.models.interface.configuration import configuration

VARIANTS = {
    "tiny": lambda: RegionManager(configuration("tiny", regions=8)),
    "small": lambda: RegionManager(configuration("small", regions=16)),
}
ICARUS_VARIANTS = ("small",)
