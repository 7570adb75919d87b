"""Requests for the granularity unit: the golden model of ``hdl/granularity_unit/commands.py``."""

import numpy as np

from adagrain.models.device.refusal import Refusal, require
from adagrain.models.device.tensor_input import TensorInputModel
from adagrain.models.device.unit_model import UnitModel
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import pack, size, unpack
from adagrain.models.interface.units.granularity_unit import TileOpcode, TileResult, TileRun
from adagrain.models.interface.units.ranges import First

from .tiles import RunError, TileModel

__all__ = ["TileCommands"]


class TileCommands(UnitModel):
    """Golden model of :class:`adagrain.hdl.granularity_unit.commands.TileCommands`.

    Parameters
    ----------
    configuration, tensor_input
        As those of :class:`UnitModel`.
    """

    def __init__(self, configuration: Configuration, tensor_input: TensorInputModel) -> None:
        super().__init__(configuration, tensor_input)
        self.tiles = TileModel(configuration.slices, configuration.operands)
        self._words = 0
        self.operations = {
            TileOpcode.WRITE: self._write,
            TileOpcode.RUN: self._run,
            TileOpcode.SCALES: self._scales,
        }

    def registers(self) -> dict[str, int]:
        return {"tile_words": self._words & 0xFFFF_FFFF}

    def _write(self, payload: bytes) -> bytes:
        first = unpack(First, payload[: size(First)])["first"]
        words = np.frombuffer(payload, dtype="<u4", offset=size(First))
        room = (self.configuration.slices + 1) * self.configuration.operands - first
        require(len(words) <= room, Status.BAD_VALUE)
        self.tiles.memory.write(first, words)
        return b""

    def _run(self, payload: bytes) -> bytes:
        run = unpack(TileRun, payload)
        needed = {run["mode"], run["to"] if run["last"] and run["scaled"] else run["mode"]}
        require(needed <= {*self.configuration.precisions}, Status.UNSUPPORTED)
        try:
            results = self.tiles.run(run)
        except RunError as error:
            raise Refusal(Status.BAD_VALUE if error.started else Status.NO_SUM) from None
        self._words += run["rows"] * run["words"]
        return b"".join(pack(TileResult, **result._asdict()) for result in results)

    def _scales(self, payload: bytes) -> bytes:
        require(len(payload) == self.configuration.slices, Status.BAD_LENGTH)
        self.tiles.exponents = np.frombuffer(payload, dtype=np.int8).astype(np.int64)
        return b""
