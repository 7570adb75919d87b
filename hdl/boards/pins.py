"""Pins as signals."""

from amaranth.hdl import Module, Signal
from amaranth.lib import io

__all__ = ["driven", "sensed"]


def sensed(m: Module, port: io.PortLike) -> Signal:
    """Level of an input pin."""
    buffer = io.Buffer("i", port)
    m.submodules += buffer
    return buffer.i


def driven(m: Module, port: io.PortLike) -> Signal:
    """Level to drive an output pin with."""
    buffer = io.Buffer("o", port)
    m.submodules += buffer
    return buffer.o
