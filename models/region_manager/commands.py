"""Requests for ``region_manager``: the golden model of ``hdl/region_manager/commands.py``."""

from adagrain.models.device.refusal import require
from adagrain.models.device.tensor_input import TensorInputModel
from adagrain.models.device.unit_model import UnitModel
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import size, unpack
from adagrain.models.interface.units.ranges import First, Range
from adagrain.models.interface.units.region_manager import (
    MAX_WORKERS,
    WORD,
    WORDS_PER_REGION,
    RegionOpcode,
    RegionParameters,
    RegionStep,
    RegionUpdate,
)

from .table import RegionTable

__all__ = ["RegionCommands"]


class RegionCommands(UnitModel):
    """Golden model of :class:`adagrain.hdl.region_manager.commands.RegionCommands`.

    Parameters
    ----------
    configuration, tensor_input
        As those of :class:`UnitModel`.
    """

    def __init__(self, configuration: Configuration, tensor_input: TensorInputModel) -> None:
        super().__init__(configuration, tensor_input)
        self.table = RegionTable(configuration.regions)
        self._decisions = 0
        self.operations = {
            RegionOpcode.WRITE: self._write,
            RegionOpcode.READ: self._read,
            RegionOpcode.PARAMETERS: self._parameters,
            RegionOpcode.STATE: self._state,
            RegionOpcode.STEP: self._step,
        }

    def registers(self) -> dict[str, int]:
        return {"decisions": self._decisions & 0xFFFF_FFFF}

    def _check(self, first: int, count: int) -> None:
        words = self.configuration.regions * WORDS_PER_REGION
        require(count > 0 and first + count <= words, Status.BAD_VALUE)

    def _write(self, payload: bytes) -> bytes:
        first, words = unpack(First, payload[: size(First)])["first"], payload[size(First) :]
        self._check(first, len(words) // WORD)
        self.table.write_words(first, words)
        return b""

    def _read(self, payload: bytes) -> bytes:
        first, count = unpack(Range, payload).values()
        self._check(first, count)
        require(count * WORD <= self.configuration.payload, Status.BAD_VALUE)
        return self.table.read_words(first, count)

    def _parameters(self, payload: bytes) -> bytes:
        parameters = unpack(RegionParameters, payload)
        require(1 <= parameters["workers"] <= MAX_WORKERS, Status.BAD_VALUE)
        self.table.parameters = parameters
        return b""

    def _state(self, payload: bytes) -> bytes:
        return self.table.parameter_octets()

    def _step(self, payload: bytes) -> bytes:
        head, updates = payload[: size(RegionStep)], payload[size(RegionStep) :]
        require(self.table.configured, Status.NO_PARAMETERS)
        self._decisions += len(updates) // size(RegionUpdate)
        return self.table.step(head, updates)
