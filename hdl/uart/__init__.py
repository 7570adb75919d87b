"""Bytes over a serial line."""

from .rate import step_per_cycle
from .receiver import LineCounters, Receiver
from .transmitter import Transmitter

__all__ = ["LineCounters", "Receiver", "Transmitter", "step_per_cycle"]
