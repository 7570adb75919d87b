"""Builds that tests share, for them to be compiled once."""

from matrices import GRANULAR

from adagrain.models.interface.configuration import configuration

__all__ = ["SHARED", "TINY"]

#: The smallest device that decides on regions, with a histogram; unlike the device preset.
TINY = configuration("tiny", units=("statistics", "region_manager"), histogram=True)

#: Those that the host's tests simulate, by names for the tests of the whole device.
SHARED = {"tiny_whole": TINY, "whole": GRANULAR, "full": configuration("full")}
