"""Description of a unit's table, as data: entries that requests write, read, and decide on."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amaranth.lib import data

if TYPE_CHECKING:
    from adagrain.models.interface.configuration import Configuration

__all__ = ["Table"]


@dataclass(frozen=True)
class Table:
    """A table of records that a unit keeps and decides on, and of which the driver has a copy.

    The unit's operations say the rest: ``write`` takes a :data:`First` and items, of which an entry
    is one or several, ``read`` a :data:`Range` of them; ``step`` takes updates, behind a record
    that holds for all of them if it has one, and replies a decision on each.

    Parameters
    ----------
    record : StructLayout
        One entry.
    number : str
        Field of an update that has its entry's number; so an entry is called in messages, too.
    entries : callable
        How many there are in a build of a configuration.
    write, read, step : IntEnum
        Opcodes of the requests.
    model : str
        ``module:class`` of the golden table, a :class:`GoldenTable`.
    settings : IntEnum or None
        Opcode of the request that sets what holds for all entries, before which there is no step.
    optional : bool
        Where it is not built, the driver decides with the golden model alone, and says so.
    """

    record: data.StructLayout
    number: str
    entries: Callable[[Configuration], int]
    write: enum.IntEnum
    read: enum.IntEnum
    step: enum.IntEnum
    model: str
    settings: enum.IntEnum | None = None
    optional: bool = False
