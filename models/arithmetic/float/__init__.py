"""IEEE 754 multiplication, addition and conversion on integers, with their exception flags.

The golden model of ``hdl/arithmetic/float``, for every format of the table in
``models/interface/formats.py``: round to nearest even, subnormal numbers in and out, the canonical
quiet NaN, and underflow where a result is tiny after rounding, as RISC-V and SoftFloat have it. No
float of the host takes part.
"""

from .add import add
from .convert import convert, exact_numbers
from .multiply import exact_products, multiply
from .round import nearest, nearest_integer, round_exact
from .values import Exact, Flag, Rounded, infinity, with_nans

__all__ = [
    "Exact",
    "Flag",
    "Rounded",
    "add",
    "convert",
    "exact_numbers",
    "exact_products",
    "infinity",
    "multiply",
    "nearest",
    "nearest_integer",
    "round_exact",
    "with_nans",
]
