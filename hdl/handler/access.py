"""The signature between the requests for a unit's table and the unit."""

from amaranth.hdl import unsigned
from amaranth.lib import data

from adagrain.models.interface.units import Unit
from adagrain.models.interface.units.ranges import First

__all__ = ["access_layout"]


def access_layout(unit: Unit) -> data.StructLayout:
    """An item of a unit's table that is read or written from outside.

    Members
    -------
    write : ``unsigned(1)``
        It is written; otherwise it is sent.
    number : ``unsigned(16)``
        Which one.
    item : ``unit.item``
        What it becomes.
    """
    return data.StructLayout(
        {"write": unsigned(1), "number": unsigned(First.size), "item": unit.item}
    )
