"""Requests for a unit's table: the golden model of what handlers of tables do."""

from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import size, unpack
from adagrain.models.interface.units import Table, Unit, load
from adagrain.models.interface.units.ranges import First, Range

from .golden_table import GoldenTable
from .refusal import require
from .tensor_input import TensorInputModel
from .unit_model import UnitModel

__all__ = ["TableModel"]


class TableModel(UnitModel):
    """Golden model of a handler that writes, reads and steps its unit's table.

    Parameters
    ----------
    unit : Unit
        The unit; it has a table.
    configuration, tensor_input
        As those of :class:`UnitModel`.

    Attributes
    ----------
    table : GoldenTable
        The table.
    decisions : int
        Updates that were taken.
    """

    def __init__(
        self, unit: Unit, configuration: Configuration, tensor_input: TensorInputModel
    ) -> None:
        super().__init__(configuration, tensor_input)
        assert unit.table is not None
        self._unit: Unit = unit
        self._of: Table = unit.table
        self.table: GoldenTable = load(unit, unit.table.model)(unit.table.entries(configuration))
        self.decisions = 0
        self._lent = False  # the table is somebody else's too
        self.operations = {
            self._of.write: self._write,
            self._of.read: self._read,
            self._of.step: self._step,
        }

    def adopt(self, table: GoldenTable, decisions: int) -> None:
        """Go on with a table that so many decisions have led to; it is not changed."""
        self.table, self._lent = table, True
        self.decisions += decisions

    def _own(self) -> GoldenTable:
        """The table, to be changed."""
        if self._lent:
            self.table, self._lent = self.table.copy(), False
        return self.table

    def _write(self, payload: bytes) -> bytes:
        first, items = unpack(First, payload[: size(First)])["first"], payload[size(First) :]
        self._check(first, len(items) // self._unit.item_size)
        self._own().write(first, items)
        return b""

    def _read(self, payload: bytes) -> bytes:
        first, count = unpack(Range, payload).values()
        self._check(first, count)
        require(count * self._unit.item_size <= self.configuration.payload, Status.BAD_VALUE)
        return self.table.read(first, count)

    def _step(self, payload: bytes) -> bytes:
        request = self._unit.step.request
        head, updates = payload[: request.head_size], payload[request.head_size :]
        self.decisions += len(updates) // request.item_size
        return self._own().step(head, updates)

    def _check(self, first: int, count: int) -> None:
        items = self._unit.items(self.configuration)
        require(count > 0 and first + count <= items, Status.BAD_VALUE)
