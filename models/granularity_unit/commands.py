"""Requests for the granularity unit: the golden model of ``hdl/granularity_unit/commands.py``."""

import numpy as np
import torch

from adagrain.models.device.refusal import Refusal, require
from adagrain.models.device.tensor_input import TensorInputModel
from adagrain.models.device.tensor_pass import TensorPassModel
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import pack, unpack
from adagrain.models.interface.units.granularity_unit import (
    GRANULARITY_UNIT,
    Destination,
    TileLoaded,
    TileOpcode,
    TileResult,
    TileRun,
    TileSettled,
)

from .tiles import RunError, TileModel, row_results

__all__ = ["TileCommands"]


class TileCommands(TensorPassModel):
    """Golden model of :class:`adagrain.hdl.granularity_unit.commands.TileCommands`.

    Parameters
    ----------
    configuration, tensor_input
        As those of :class:`UnitModel`.
    """

    def __init__(self, configuration: Configuration, tensor_input: TensorInputModel) -> None:
        super().__init__(configuration, tensor_input, GRANULARITY_UNIT)
        self.tiles = TileModel(configuration.slices, configuration.operands)
        self._words = 0
        self._kept = 0
        self._results: list[int] = []
        self.operations = {
            **self.operations,
            TileOpcode.RUN: self._run,
            TileOpcode.SCALES: self._scales,
            TileOpcode.SETTLE: self._settle,
        }

    def registers(self) -> dict[str, int]:
        return {"tile_words": self._words & 0xFFFF_FFFF}

    def take_results(self) -> list[int]:
        taken, self._results = self._results, []
        return taken

    def check(self, begin: dict[str, int]) -> None:
        room = (self.configuration.slices + 1) * self.configuration.operands - begin["address"]
        fits = begin["format"] == FormatCode.FP32 and begin["count"] <= room
        require(fits, Status.BAD_VALUE)

    def result(self, begin: dict[str, int], tensor: torch.Tensor) -> bytes:
        words = tensor.view(torch.int32).numpy().view(np.uint32)
        self.tiles.memory.write(begin["address"], words)
        return pack(TileLoaded, words=begin["count"])

    def hello(self) -> None:
        self._clear(self.begun)
        super().hello()

    def _end(self, payload: bytes) -> bytes:
        begun = self.begun
        try:
            return super()._end(payload)
        except Refusal:
            self._clear(begun)
            raise

    def _clear(self, begun: dict[str, int] | None) -> None:
        """Words of a pass that is given up."""
        if begun is not None:
            self.tiles.memory.write(begun["address"], np.zeros(begun["count"], dtype=np.int64))

    def _run(self, payload: bytes) -> bytes:
        require(self.begun is None, Status.BUSY)
        run = unpack(TileRun, payload)
        needed = {run["mode"], run["to"] if run["last"] and run["scaled"] else run["mode"]}
        require(needed <= {*self.configuration.precisions}, Status.UNSUPPORTED)
        require(self._has_room(run), Status.BAD_VALUE)
        try:
            results = self.tiles.run(run)
        except RunError as error:
            raise Refusal(Status.BAD_VALUE if error.started else Status.NO_SUM) from None
        self._words += run["rows"] * run["words"]
        return self._deliver(run, results)

    def _has_room(self, run: dict[str, int]) -> bool:
        """True if the run's results can go where they should."""
        if run["destination"] not in {*Destination}:
            return False
        if not run["last"] or run["destination"] != Destination.MEMORY:
            return True
        end = run["to_first"] + run["rows"] * row_results(run, self.configuration.slices)
        a_end = run["a_first"] + run["rows"] * run["words"]
        apart = end <= run["a_first"] or a_end <= run["to_first"]
        return end <= self.configuration.operands and apart

    def _deliver(self, run: dict[str, int], results: list[TileResult]) -> bytes:
        """Results where they belong; the reply's payload."""
        if run["destination"] == Destination.LINK:
            return b"".join(pack(TileResult, **result._asdict()) for result in results)
        if run["destination"] == Destination.PORT:
            words = [number for result in results for number in result]
            self._results += words + [0] * (-len(words) % 4)
        elif results:
            self.tiles.keep(run, results)
            self._kept |= int(np.bitwise_or.reduce([result.flags for result in results]))
        return b""

    def _settle(self, payload: bytes) -> bytes:
        flags, self._kept = self._kept, 0
        return pack(TileSettled, flags=flags)

    def _scales(self, payload: bytes) -> bytes:
        require(len(payload) == self.configuration.slices, Status.BAD_LENGTH)
        self.tiles.exponents = np.frombuffer(payload, dtype=np.int8).astype(np.int64)
        return b""
