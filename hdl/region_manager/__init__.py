"""The region table, its averages, and the rules that decide each region's granularities."""

from .manager import RegionManager

__all__ = ["RegionManager"]
