"""Pins as signals."""

from amaranth.hdl import Module, Signal
from amaranth.lib import io

__all__ = ["driven", "sensed"]


def sensed(m: Module, port: io.PortLike) -> Signal:
    """What an input pin reads."""
    buffer = io.Buffer("i", port)
    m.submodules += buffer
    return buffer.i


def driven(m: Module, port: io.PortLike) -> Signal:
    """What an output pin is to be driven with."""
    buffer = io.Buffer("o", port)
    m.submodules += buffer
    return buffer.o
