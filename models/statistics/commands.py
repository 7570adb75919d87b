"""Requests for ``statistics``: the golden model of ``hdl/statistics/commands.py``."""

import torch

from adagrain.models.device.refusal import Refusal, require
from adagrain.models.device.tensor_input import TensorInputModel
from adagrain.models.device.tensor_pass import TensorPassModel
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import size, unpack
from adagrain.models.interface.units.ranges import ByteRange
from adagrain.models.interface.units.statistics import (
    BINS,
    STATISTICS,
    HistogramBin,
    StatisticsOpcode,
)

from .statistics import statistics

__all__ = ["StatisticsCommands"]


class StatisticsCommands(TensorPassModel):
    """Golden model of :class:`adagrain.hdl.statistics.commands.StatisticsCommands`.

    Parameters
    ----------
    configuration, tensor_input
        As those of :class:`UnitModel`.

    Attributes
    ----------
    kernel : str
        Implementation of the pass: ``"fused"`` or ``"reference"``.
    """

    kernel = "fused"

    def __init__(self, configuration: Configuration, tensor_input: TensorInputModel) -> None:
        super().__init__(configuration, tensor_input, STATISTICS)
        self._bins: bytes | None = None
        self.operations = {**self.operations, StatisticsOpcode.HISTOGRAM: self._histogram}

    def check(self, begin: dict[str, int]) -> None:
        require(1 <= begin["exponent"] <= 254, Status.BAD_VALUE)
        require(self.configuration.histogram or not begin["histogram"], Status.UNSUPPORTED)

    def result(self, begin: dict[str, int], tensor: torch.Tensor) -> bytes:
        found = statistics(
            tensor,
            begin["exponent"] - 127,
            powers=self.configuration.powers,
            histogram=bool(begin["histogram"]),
            kernel=self.kernel,
        )
        self._bins = found.histogram_bytes() or self._bins
        return found.record()

    def _begin(self, payload: bytes) -> bytes:
        super()._begin(payload)
        if self.begun and self.begun["histogram"]:
            self._bins = None
        return b""

    def _histogram(self, payload: bytes) -> bytes:
        require(self.configuration.histogram, Status.UNSUPPORTED)
        first, count = unpack(ByteRange, payload).values()
        width = size(HistogramBin)
        fits = count > 0 and first + count <= BINS and count * width <= self.configuration.payload
        require(fits, Status.BAD_VALUE)
        require(self.begun is None, Status.BUSY)
        if self._bins is None:
            raise Refusal(Status.NO_HISTOGRAM)
        return self._bins[first * width : (first + count) * width]
