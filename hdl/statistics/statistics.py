"""The statistics unit: control, and what its parts find, gathered into a record."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.checks import check_choice, check_flag, check_integer
from adagrain.hdl.stream.packet import beat_layout, check_lanes
from adagrain.models.interface.units.statistics import (
    BINS,
    HistogramBin,
    StatisticsBegin,
    StatisticsRecord,
)

from .counts import Counts
from .extremes import Extremes
from .histogram import Histogram
from .power_sums import PowerSums
from .quantise import Quantise

__all__ = ["Statistics"]

#: Cycles from a beat to the last accumulator that it reaches.
_DRAIN = Quantise.LATENCY + max(Counts.LATENCY, PowerSums.LATENCY) + 1


class Statistics(wiring.Component):
    """Counts, extremes, power sums and histogram of a tensor, in one pass.

    Takes a beat per cycle from the pass's start to its last beat: ``i`` is never stalled. The
    record is offered 11 cycles after the last beat, and, where there is a histogram, 526 after
    it. The next pass begins when the record has been taken; the first one can 515 cycles after a
    reset.

    Finishing (mean, variance and so on) is the host's; formats narrower than FP32 are widened by
    :class:`~adagrain.hdl.tensor_input.Unpacker`.

    Parameters
    ----------
    lanes : int
        Elements per cycle: 1, 2 or 4.
    powers : int
        Highest power sum: 2 or 4; higher ones read 0.
    histogram : bool
        Whether there is one; without, no pass may ask for it, and ``i_bin`` is never taken.
    count_bits : int
        Width of the counters, at most 32; a pass of more elements sets ``overflow``.

    Members
    -------
    i_begin : ``In(stream.Signature(StatisticsBegin))``
        Starts a pass; only ``exponent`` (1 to 254) and ``histogram`` are used.
    i : ``In(stream.Signature(beat_layout(lanes)))``
        FP32 elements. A last beat may keep no lane at all.
    o : ``Out(stream.Signature(StatisticsRecord))``
        One record per pass.
    i_bin : ``In(stream.Signature(range(64)))``, o_bin : ``Out(stream.Signature(HistogramBin))``
        Number of a bin, and the bin, of the last pass with a histogram.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(
        self, lanes: int, powers: int = 4, *, histogram: bool = True, count_bits: int = 32
    ) -> None:
        check_lanes(lanes)
        check_choice("powers", powers, (2, 4))
        check_flag("histogram", histogram)
        check_integer("count_bits", count_bits, 1, 32)
        self.lanes = lanes
        self.powers = powers
        self.count_bits = count_bits
        self.has_histogram = histogram
        super().__init__(
            {
                "i_begin": In(stream.Signature(StatisticsBegin)),
                "i": In(stream.Signature(beat_layout(lanes))),
                "o": Out(stream.Signature(StatisticsRecord)),
                "i_bin": In(stream.Signature(range(BINS))),
                "o_bin": Out(stream.Signature(HistogramBin)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.counts = counts = Counts(self.lanes, self.count_bits)
        m.submodules.sums = sums = PowerSums(self.lanes, self.powers, self.count_bits)
        m.submodules.extremes = extremes = Extremes(self.lanes)

        exponent = Signal(8)
        wants_histogram = Signal()
        start = self.i_begin.valid & self.i_begin.ready
        arrives = self.i.valid & self.i.ready
        waited = Signal(range(_DRAIN + 1))
        sweep, swept = Signal(), Signal()

        with m.FSM():
            with m.State("CLEAR"):  # a reset may have cut off a pass with a histogram
                with m.If(swept):
                    m.next = "IDLE"
            with m.State("IDLE"):
                m.d.comb += self.i_begin.ready.eq(1)
                m.d.sync += exponent.eq(self.i_begin.payload.exponent)
                m.d.sync += wants_histogram.eq(self.i_begin.payload.histogram)
                with m.If(self.i_begin.valid):
                    m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += waited.eq(0)
                with m.If(self.i.valid & self.i.payload.last):
                    m.next = "DRAIN"
            with m.State("DRAIN"):
                m.d.sync += waited.eq(waited + 1)
                with m.If(waited == _DRAIN):
                    m.next = "RECORD"
                    with m.If(wants_histogram):
                        m.d.comb += sweep.eq(1)
                        m.next = "SWEEP"
            with m.State("SWEEP"):
                with m.If(swept):
                    m.next = "RECORD"
            with m.State("RECORD"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "IDLE"

        present = Signal(self.lanes)
        with m.If(arrives):
            m.d.comb += present.eq(self.i.payload.keep)
        m.d.comb += [
            counts.clear.eq(start),
            sums.clear.eq(start),
            extremes.clear.eq(start),
            extremes.word.eq(self.i.payload.data),
            extremes.present.eq(present),
        ]
        if self.has_histogram:
            m.submodules.histogram = histogram = Histogram(self.lanes, self.count_bits)
            connect(m, flipped(self.i_bin), histogram.i_bin)
            connect(m, histogram.o_bin, flipped(self.o_bin))
            m.d.comb += [
                histogram.word.eq(self.i.payload.data),
                histogram.present.eq(present & wants_histogram.replicate(self.lanes)),
                histogram.largest_exponent.eq(extremes.largest_exponent),
                histogram.sweep.eq(sweep),
                swept.eq(histogram.done),
            ]
        else:
            m.d.comb += swept.eq(1)
        for lane in range(self.lanes):
            m.submodules[f"quantise_{lane}"] = quantise = Quantise()
            m.d.comb += [
                quantise.word.eq(self.i.payload.data[lane]),
                quantise.present.eq(present[lane]),
                quantise.exponent.eq(exponent),
                counts.i[lane].eq(quantise.o),
                sums.q[lane].eq(quantise.o.q),
            ]

        record = self.o.payload
        m.d.comb += [record[name].eq(counts.o[name]) for name, _ in counts.o.shape()]
        m.d.comb += [record[f"s{p}"].eq(getattr(sums, f"s{p}")) for p in (1, 2, 3, 4)]
        m.d.comb += [
            record.minimum.eq(extremes.minimum),
            record.maximum.eq(extremes.maximum),
            record.none_finite.eq(extremes.none_finite),
            record.largest_exponent.eq(extremes.largest_exponent),
            record.exponent.eq(exponent),
        ]
        return m
