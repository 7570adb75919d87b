"""IEEE 754 arithmetic, a result per cycle."""

from .add import Adder
from .convert import Converter
from .multiply import Multiplier

__all__ = ["Adder", "Converter", "Multiplier"]
