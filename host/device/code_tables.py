"""The tables of codes that a device's units have."""

from collections.abc import Iterator, Sequence

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

    def bring(self, unit: Unit, tables: Sequence[CodeTable]) -> None:
        """Within an operation: put tables into the first slots of a unit."""
        held = self._held.setdefault(unit, [b""] * SLOTS)
        self._session.call(self._missing(unit, held, tables))
        held[: len(tables)] = [table.lengths for table in tables]

    def forget(self) -> None:
        """A device may have none of them."""
        self._held.clear()

    def _missing(
        self, unit: Unit, held: Sequence[bytes], tables: Sequence[CodeTable]
    ) -> Iterator[Request]:
        opcode = next(own.opcode for own in unit.operations if own.request.head is CodeLengths)
        for slot, table in enumerate(tables):
            if table.lengths != held[slot]:
                yield Request(opcode, packed_lengths(slot, table.lengths))
