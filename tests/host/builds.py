"""A build that tests share, for it to be compiled once; another one is in ``matrices``."""

from adagrain.models.interface.configuration import configuration

__all__ = ["TINY"]

#: The smallest device that decides on regions, with a histogram; unlike the device preset.
TINY = configuration("tiny", units=("statistics", "region_manager"), histogram=True)
