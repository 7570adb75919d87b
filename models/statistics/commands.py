"""Requests for ``statistics``: the golden model of ``hdl/statistics/commands.py``."""

import torch

from adagrain.models.device.data_port import DataPort
from adagrain.models.device.unit_model import Refusal, UnitModel, require
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.formats import FORMATS, FormatCode
from adagrain.models.interface.protocol import GROUP, Status
from adagrain.models.interface.records import size, unpack
from adagrain.models.interface.units.ranges import ByteRange
from adagrain.models.interface.units.statistics import (
    BINS,
    HistogramBin,
    StatisticsBegin,
    StatisticsOpcode,
)

from .statistics import Statistics, statistics

__all__ = ["StatisticsCommands"]


class StatisticsCommands(UnitModel):
    """Golden model of :class:`adagrain.hdl.statistics.commands.StatisticsCommands`.

    Parameters
    ----------
    configuration, port
        As those of :class:`UnitModel`.

    Attributes
    ----------
    kernel : str
        Implementation of the pass: ``"fused"`` or ``"reference"``.
    """

    kernel = "fused"

    def __init__(self, configuration: Configuration, port: DataPort) -> None:
        super().__init__(configuration, port)
        self._elements = 0
        self._pass: _Pass | None = None
        self._bins: bytes | None = None
        self.operations = {
            StatisticsOpcode.BEGIN: self._begin,
            StatisticsOpcode.DATA: self._data,
            StatisticsOpcode.END: self._end,
            StatisticsOpcode.HISTOGRAM: self._histogram,
        }

    def registers(self) -> dict[str, int]:
        return {"elements": self._elements}

    def hello(self) -> None:
        self._give_up()

    def _give_up(self) -> None:
        self._pass = None
        self.port.feed(None)

    def _begin(self, payload: bytes) -> bytes:
        begin = unpack(StatisticsBegin, payload)
        require(self._pass is None, Status.BUSY)
        require(begin["format"] in self.configuration.formats, Status.UNSUPPORTED)
        require(self.configuration.histogram or not begin["histogram"], Status.UNSUPPORTED)
        require(begin["count"] > 0 and 1 <= begin["exponent"] <= 254, Status.BAD_VALUE)
        self._pass = _Pass(begin)
        if begin["histogram"]:
            self._bins = None
        if not begin["from_link"]:
            self.port.feed(self._pass.take)
        return b""

    def _data(self, payload: bytes) -> bytes:
        if self._pass is None:
            raise Refusal(Status.NOT_STARTED)
        room = self._pass.missing if self._pass.begin["from_link"] else 0
        require(len(payload) <= room, Status.OVERFLOW)
        self._pass.take(torch.frombuffer(bytearray(payload), dtype=torch.uint8))
        return b""

    def _end(self, payload: bytes) -> bytes:
        if self._pass is None:
            raise Refusal(Status.NOT_STARTED)
        ended = self._pass
        self._give_up()
        require(ended.missing == 0, Status.INCOMPLETE)
        result = ended.result(self.configuration.powers, self.kernel)
        self._elements += result.count
        self._bins = result.histogram_octets() or self._bins
        return result.record()

    def _histogram(self, payload: bytes) -> bytes:
        require(self.configuration.histogram, Status.UNSUPPORTED)
        first, count = unpack(ByteRange, payload).values()
        width = size(HistogramBin)
        fits = count > 0 and first + count <= BINS and count * width <= self.configuration.payload
        require(fits, Status.BAD_VALUE)
        require(self._pass is None, Status.BUSY)
        if self._bins is None:
            raise Refusal(Status.NO_HISTOGRAM)
        return self._bins[first * width : (first + count) * width]


class _Pass:
    """A pass over one tensor: what was announced, and what has come."""

    def __init__(self, begin: dict[str, int]) -> None:
        self.begin = begin
        self._format = FORMATS[FormatCode(begin["format"])]
        octets = begin["count"] * self._format.bits // 8
        self.missing = -(-octets // GROUP) * GROUP
        self._parts: list[torch.Tensor] = []

    def take(self, octets: torch.Tensor) -> torch.Tensor:
        """Take what is missing; the octets that are left over."""
        part, rest = octets[: self.missing], octets[self.missing :]
        self.missing -= len(part)
        self._parts.append(part)
        return rest

    def result(self, powers: int, kernel: str) -> Statistics:
        octets = self._parts[0] if len(self._parts) == 1 else torch.cat(self._parts)
        tensor = octets.view(self._format.dtype)[: self.begin["count"]]
        return statistics(
            tensor,
            self.begin["exponent"] - 127,
            powers=powers,
            histogram=bool(self.begin["histogram"]),
            kernel=kernel,
        )
