"""The tables of codes that a device's units have."""

from collections.abc import Sequence

from adagrain.host.link.session import Request, Session
from adagrain.models.codec import CodeTable
from adagrain.models.interface.codec import SLOTS
from adagrain.models.interface.units import Unit
from adagrain.models.interface.units.code_lengths import CodeLengths, packed_lengths

__all__ = ["CodeTables"]


class CodeTables:
    """Brings tables into the slots of units, where they are not there already.

    Parameters
    ----------
    session : Session
        Commands to the device.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._held: dict[Unit, list[bytes]] = {}

    def bring(self, unit: Unit, tables: Sequence[CodeTable | None]) -> None:
        """Within an operation: put tables into the slots of a unit, where there are any."""
        held = self._held.setdefault(unit, [b""] * SLOTS)
        wanted = [(n, table.lengths) for n, table in enumerate(tables) if table is not None]
        missing = [(slot, lengths) for slot, lengths in wanted if lengths != held[slot]]
        opcode = next(own.opcode for own in unit.operations if own.request.head is CodeLengths)
        self._session.call(Request(opcode, packed_lengths(*one)) for one in missing)
        for slot, lengths in missing:
            held[slot] = lengths

    def forget(self) -> None:
        """A device may have none of them."""
        self._held.clear()
