"""Tiles of matrix products in four precisions, from packed operand memories."""

from .granularity_unit import GranularityUnit

__all__ = ["GranularityUnit"]
