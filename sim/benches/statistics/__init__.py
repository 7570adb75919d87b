"""Variants of the statistics unit that its bench runs on, each behind its ``Unpacker``."""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.statistics import Statistics
from adagrain.hdl.tensor_input import Unpacker
from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.units.statistics import (
    BINS,
    HistogramBin,
    StatisticsBegin,
    StatisticsRecord,
)
from adagrain.models.interface.units.tensor_input import TENSOR_FIELDS

__all__ = ["ICARUS_VARIANTS", "VARIANTS", "UnpackedStatistics"]


class UnpackedStatistics(wiring.Component):
    """``Unpacker`` and ``Statistics`` with all their streams at the top, for benches."""

    def __init__(self, lanes: int, formats: tuple[FormatCode, ...], **options: Any) -> None:
        self.formats = formats
        self.unit = Statistics(lanes, **options)
        super().__init__(
            {
                "i_tensor": In(stream.Signature(data.StructLayout(TENSOR_FIELDS))),
                "i_begin": In(stream.Signature(StatisticsBegin)),
                "i": In(stream.Signature(data.ArrayLayout(32, lanes))),
                "o": Out(stream.Signature(StatisticsRecord)),
                "i_bin": In(stream.Signature(range(BINS))),
                "o_bin": Out(stream.Signature(HistogramBin)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unpacker = unpacker = Unpacker(self.unit.lanes, self.formats)
        m.submodules.unit = unit = self.unit
        connect(m, unpacker.o, unit.i)
        connect(m, flipped(self.i_tensor), unpacker.i_begin)
        connect(m, flipped(self.i_begin), unit.i_begin)
        connect(m, flipped(self.i), unpacker.i)
        connect(m, unit.o, flipped(self.o))
        connect(m, flipped(self.i_bin), unit.i_bin)
        connect(m, unit.o_bin, flipped(self.o_bin))
        return m


def _preset(name: str, **options: Any) -> UnpackedStatistics:
    preset = configuration(name)
    return UnpackedStatistics(
        preset.lanes,
        preset.formats,
        powers=preset.powers,
        histogram=preset.histogram,
        **options,
    )


VARIANTS = {
    "tiny": lambda: _preset("tiny"),
    "small": lambda: _preset("small"),
    "full": lambda: _preset("full"),
    "narrow_counters": lambda: _preset("small", count_bits=8),
}
ICARUS_VARIANTS = ("small",)
