"""One pass of ``statistics`` over a tensor that arrives in groups of words."""

from amaranth.hdl import Module, Mux, ResetInserter, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.stream.narrow import Narrow
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.formats import FORMATS
from adagrain.models.interface.protocol import GROUP
from adagrain.models.interface.units.statistics import (
    BINS,
    HistogramBin,
    StatisticsBegin,
    StatisticsRecord,
)

from . import Statistics, Widen

__all__ = ["Group", "StatisticsPass"]

#: Words that enter at once.
Group = data.ArrayLayout(unsigned(32), GROUP // 4)


#: Groups of the longest tensor: 2**32 - 1 elements of 32 bits, the last group a part.
_MISSING = range((1 << 32) * 4 // GROUP + 1)


class StatisticsPass(wiring.Component):
    """Feeds ``statistics`` from the link or from the data port, and can give a pass up.

    Takes just the groups that hold the announced elements; what the last group holds beyond them
    is dropped. Takes L words per cycle without bubbles. A start is taken when ``statistics`` is
    ready for it.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    starvation : int
        Cycles without a group from the data port after which a pass counts as starved.

    Members
    -------
    i_begin : ``In(stream.Signature(StatisticsBegin))``
        Starts a pass. Its format must be built, its count must not be 0.
    i_link, i_data : ``In(stream.Signature(Group))``
        The tensor's memory; the one that ``from_link`` names is read.
    o : ``Out(stream.Signature(StatisticsRecord))``
        The record of the pass.
    active : ``Out(1)``
        From the start of a pass until its record is taken, or it is given up.
    from_link : ``Out(1)``
        The pass reads ``i_link``.
    missing : ``Out(31)``
        Groups that have not come yet.
    starved : ``Out(1)``
        Groups are missing and the data port has offered none for ``starvation`` cycles.
    stop : ``In(1)``
        Gives the pass up; to be held until ``active`` is low. The histogram is then undefined
        until the next pass that has one.
    i_bin, o_bin : streams
        Histogram, as in :class:`~adagrain.hdl.statistics.Statistics`.
    """

    def __init__(self, configuration: Configuration, *, starvation: int = 1 << 16) -> None:
        if starvation < 1:
            raise ValueError(f"starvation must be positive, not {starvation!r}")
        self._configuration = configuration
        self._starvation = starvation
        super().__init__(
            {
                "i_begin": In(stream.Signature(StatisticsBegin)),
                "i_link": In(stream.Signature(Group)),
                "i_data": In(stream.Signature(Group)),
                "o": Out(stream.Signature(StatisticsRecord)),
                "active": Out(1),
                "from_link": Out(1),
                "missing": Out(_MISSING),
                "starved": Out(1),
                "stop": In(1),
                "i_bin": In(stream.Signature(range(BINS))),
                "o_bin": Out(stream.Signature(HistogramBin)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self._configuration.lanes
        restart = Signal()
        narrow = ResetInserter(restart)(Narrow(GROUP // 4, lanes))
        widen = ResetInserter(restart)(Widen(lanes, self._configuration.formats))
        unit = Statistics(
            lanes,
            powers=self._configuration.powers,
            histogram=self._configuration.histogram,
        )
        m.submodules += [narrow, widen, unit]
        connect(m, flipped(self.i_bin), unit.i_bin)
        connect(m, unit.o_bin, flipped(self.o_bin))

        begin = self.i_begin.payload
        complete = Signal()
        wanted = Signal()  # groups are missing
        m.d.comb += [
            unit.i_begin.payload.eq(begin),
            widen.i_begin.payload.count.eq(begin.count),
            widen.i_begin.payload.format.eq(begin.format),
            self.o.payload.eq(unit.o.payload),
        ]
        with m.If(unit.i.valid & unit.i.ready & unit.i.payload.last):
            m.d.sync += complete.eq(1)

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [restart.eq(1), unit.i_begin.valid.eq(self.i_begin.valid)]
                with m.If(unit.i_begin.valid & unit.i_begin.ready):
                    m.next = "BEGIN"
            with m.State("BEGIN"):
                m.d.comb += [widen.i_begin.valid.eq(1), self.i_begin.ready.eq(1)]
                m.d.sync += [
                    self.from_link.eq(begin.from_link),
                    self.missing.eq(self._groups(begin)),
                    self.active.eq(1),
                    complete.eq(0),
                    wanted.eq(1),
                ]
                m.next = "RUN"
            with m.State("RUN"):
                self._take_groups(m, narrow, wanted)
                self._feed(m, narrow, widen, unit, complete)
                m.d.comb += [self.o.valid.eq(unit.o.valid), unit.o.ready.eq(self.o.ready)]
                with m.If(self.o.valid & self.o.ready):
                    m.d.sync += self.active.eq(0)
                    m.next = "IDLE"
                with m.Elif(self.stop):
                    m.next = "STOP"
            with m.State("STOP"):
                m.d.comb += [
                    restart.eq(1),
                    unit.i.payload.last.eq(1),
                    unit.i.valid.eq(~complete),
                    unit.o.ready.eq(1),
                ]
                with m.If(unit.o.valid):
                    m.d.sync += self.active.eq(0)
                    m.next = "IDLE"

        self._watch_port(m)
        return m

    def _groups(self, begin: data.View) -> Signal:
        """Groups that hold the announced elements."""
        total = 0
        for code in self._configuration.formats:
            per_group = GROUP * 8 // FORMATS[code].bits
            groups = (begin.count + (per_group - 1)) // per_group
            total = Mux(begin.format == code, groups, total)
        return total

    def _take_groups(self, m: Module, narrow: Narrow, wanted: Signal) -> None:
        for source, chosen in ((self.i_link, self.from_link), (self.i_data, ~self.from_link)):
            with m.If(chosen):
                m.d.comb += [
                    narrow.i.payload.eq(source.payload),
                    narrow.i.valid.eq(source.valid & wanted),
                    source.ready.eq(narrow.i.ready & wanted),
                ]
        with m.If(narrow.i.valid & narrow.i.ready):
            m.d.sync += [self.missing.eq(self.missing - 1), wanted.eq(self.missing != 1)]

    def _feed(
        self, m: Module, narrow: Narrow, widen: Widen, unit: Statistics, complete: Signal
    ) -> None:
        """Join the stages; what the last group holds beyond the tensor goes nowhere."""
        m.d.comb += [
            widen.i.payload.eq(narrow.o.payload),
            widen.i.valid.eq(narrow.o.valid),
            narrow.o.ready.eq(widen.i.ready | complete),
            unit.i.payload.eq(widen.o.payload),
            unit.i.valid.eq(widen.o.valid),
            widen.o.ready.eq(unit.i.ready),
        ]

    def _watch_port(self, m: Module) -> None:
        idle = Signal(range(self._starvation + 1))
        waits = self.active & ~self.from_link & (self.missing != 0)
        m.d.comb += self.starved.eq(idle == self._starvation)
        with m.If(~waits | self.i_data.valid):
            m.d.sync += idle.eq(0)
        with m.Elif(~self.starved):
            m.d.sync += idle.eq(idle + 1)
