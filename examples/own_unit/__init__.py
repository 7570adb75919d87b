"""A unit of somebody else's: counts the elements of a tensor that are not small.

``ADAGRAIN_UNITS=own_unit`` makes it known to everything that adagrain starts; the page
``docs/own_unit.md`` walks through it.
"""

from adagrain.models.interface.units import declare

from .descriptor import LARGE
from .gateware import Large

__all__ = ["LARGE", "VARIANTS"]

declare(LARGE)

#: What its bench runs on.
VARIANTS = {"one_lane": lambda: Large(1), "four_lanes": lambda: Large(4)}
