"""An operation of a unit, and what travels for it."""

import enum
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import data

__all__ = ["Operation", "Payload"]


@dataclass(frozen=True)
class Payload:
    """Bytes of a request or of a reply: a record, then any number of items, either of them or none.

    Parameters
    ----------
    head : StructLayout or None
        Record at its beginning.
    items : ShapeLike or None
        What follows, any number of times.
    least : int
        Fewest items.
    """

    head: data.StructLayout | None = None
    items: Any = None
    least: int = 0

    @property
    def record(self) -> data.StructLayout:
        """The record at its beginning.

        Raises
        ------
        ValueError
            If there is none.
        """
        if self.head is None:
            raise ValueError("payload must begin with a record, but it has none")
        return self.head

    @property
    def head_size(self) -> int:
        """Bytes of the record."""
        return 0 if self.head is None else _bits(self.head) // 8

    @property
    def item_size(self) -> int:
        """Bytes of an item; 0 where there are none."""
        return 0 if self.items is None else _bits(self.items) // 8

    @property
    def shortest(self) -> int:
        """Bytes of the shortest one that says something: with an item, where there can be any."""
        return self.head_size + max(1, self.least) * self.item_size

    def fits(self, length: int) -> bool:
        """True where so many bytes can be such a payload."""
        rest = length - self.head_size
        if self.items is None:
            return rest == 0
        return rest >= self.least * self.item_size and rest % self.item_size == 0


@dataclass(frozen=True)
class Operation:
    """An operation that a request may ask a unit for.

    Parameters
    ----------
    opcode : IntEnum
        Its number, whose upper half is the unit's group, and its name.
    request, reply : Payload
        What travels to the device, and back where the status is OK.
    about : str
        What it does.
    """

    opcode: enum.IntEnum
    request: Payload
    reply: Payload
    about: str


def _bits(shape: Any) -> int:
    return Shape.cast(shape).width
