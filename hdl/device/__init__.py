"""The device around the units: dispatcher, link, registers, and the top level."""

from .coprocessor import Coprocessor
from .dispatcher import Dispatcher
from .serial_coprocessor import SerialCoprocessor

__all__ = ["Coprocessor", "Dispatcher", "SerialCoprocessor"]
