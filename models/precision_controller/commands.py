"""Requests for the precision controller: the golden model of its handler."""

from adagrain.models.device.refusal import require
from adagrain.models.device.tensor_input import TensorInputModel
from adagrain.models.device.unit_model import UnitModel
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import pack, size, unpack, unpack_all
from adagrain.models.interface.units.precision_controller import (
    PrecisionDecision,
    PrecisionOpcode,
    PrecisionRecord,
    PrecisionUpdate,
)
from adagrain.models.interface.units.ranges import First, Range

from .table import PrecisionTable

__all__ = ["PrecisionCommands"]

_WIDTH = size(PrecisionRecord)


class PrecisionCommands(UnitModel):
    """Golden model of :class:`adagrain.hdl.precision_controller.commands.PrecisionCommands`.

    Parameters
    ----------
    configuration, tensor_input
        As those of :class:`UnitModel`.
    """

    def __init__(self, configuration: Configuration, tensor_input: TensorInputModel) -> None:
        super().__init__(configuration, tensor_input)
        self._table = PrecisionTable(configuration.regions)
        self.operations = {
            PrecisionOpcode.WRITE: self._write,
            PrecisionOpcode.READ: self._read,
            PrecisionOpcode.STEP: self._step,
        }

    def _write(self, payload: bytes) -> bytes:
        first, records = unpack(First, payload[: size(First)])["first"], payload[size(First) :]
        count = len(records) // _WIDTH
        require(first + count <= self.configuration.regions, Status.BAD_VALUE)
        for number in range(count):
            self._table.write(first + number, records[number * _WIDTH :][:_WIDTH])
        return b""

    def _read(self, payload: bytes) -> bytes:
        first, count = unpack(Range, payload).values()
        inside = count > 0 and first + count <= self.configuration.regions
        require(inside and count * _WIDTH <= self.configuration.payload, Status.BAD_VALUE)
        return b"".join(self._table.read(first + number) for number in range(count))

    def _step(self, payload: bytes) -> bytes:
        updates = unpack_all(PrecisionUpdate, payload)
        return b"".join(pack(PrecisionDecision, **self._table.update(u)) for u in updates)
