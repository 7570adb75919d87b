"""The precision that each channel group computes in."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.ratio import Ratio
from adagrain.hdl.checks import check_power_of_two
from adagrain.hdl.handler.access import access_layout
from adagrain.models.interface.units.precision_controller import (
    PRECISION_CONTROLLER,
    PrecisionDecision,
    PrecisionRecord,
    PrecisionUpdate,
)
from adagrain.models.precision_controller import THRESHOLDS

__all__ = ["PrecisionController"]


class PrecisionController(wiring.Component):
    """Keeps a record for each channel group, and decides its precision at each update.

    Decisions as :class:`adagrain.models.precision_controller.PrecisionTable` has them. One update
    at a time; its decision is offered at most :attr:`CYCLES` cycles after it was taken, and the
    next update waits until it has been taken. Records begin as zeros.

    Parameters
    ----------
    channel_groups : int
        Number of records: a power of two, at most 65536.

    Members
    -------
    i_access : ``In(stream.Signature(access_layout(PRECISION_CONTROLLER)))``
        Records to be written or read; they wait while an update is decided.
    o_access : ``Out(stream.Signature(PrecisionRecord))``
        Records that were asked for.
    i : ``In(stream.Signature(PrecisionUpdate))``
        Updates; accesses go before.
    o : ``Out(stream.Signature(PrecisionDecision))``
        Decisions.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    _UNROLL = 1
    CYCLES = 16 // _UNROLL + 4

    def __init__(self, channel_groups: int) -> None:
        most = 1 << PrecisionUpdate["channel_group"].width
        check_power_of_two("channel_groups", channel_groups, 1, most)
        self._channel_groups = channel_groups
        super().__init__(
            {
                "i_access": In(stream.Signature(access_layout(PRECISION_CONTROLLER))),
                "o_access": Out(stream.Signature(PrecisionRecord)),
                "i": In(stream.Signature(PrecisionUpdate)),
                "o": Out(stream.Signature(PrecisionDecision)),
            }
        )

    @property
    def channel_groups(self) -> int:
        """Number of records."""
        return self._channel_groups

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.records = records = memory.Memory(
            shape=PrecisionRecord, depth=self._channel_groups, init=[]
        )
        m.submodules.ratio = ratio = Ratio(self._UNROLL)
        write, read = records.write_port(), records.read_port()
        channel_group = Signal(16)
        record = Signal(PrecisionRecord)
        m.d.comb += [
            write.addr.eq(channel_group),
            read.addr.eq(channel_group),
            ratio.i.p.x.eq(self.i.p.variance),
            ratio.i.p.y.eq(self.i.p.square),
            self.o_access.payload.eq(read.data),
        ]

        with m.FSM():
            with m.State("IDLE"):
                access = self.i_access
                told = self.i.p.channel_group
                m.d.comb += channel_group.eq(Mux(access.valid, access.p.number, told))
                m.d.comb += [write.data.eq(access.p.item), access.ready.eq(1)]
                with m.If(access.valid):
                    m.d.comb += write.en.eq(access.p.write)
                    with m.If(~access.p.write):
                        m.next = "ANSWER"
                with m.Elif(self.i.valid):
                    m.d.comb += [ratio.i.valid.eq(1), self.i.ready.eq(ratio.i.ready)]
                    m.d.sync += self.o.p.channel_group.eq(told)
                    m.next = "DIVIDE"
            with m.State("ANSWER"):
                m.d.comb += read.en.eq(0)
                m.d.comb += self.o_access.valid.eq(1)
                with m.If(self.o_access.ready):
                    m.next = "IDLE"
            with m.State("DIVIDE"):
                m.d.comb += read.en.eq(0)
                m.d.sync += record.eq(read.data)
                with m.If(ratio.o.valid):
                    m.next = "COMPARE"
            with m.State("COMPARE"):
                least, most = self._compare(m, record, ratio.o.payload)
                m.next = "DECIDE"
            with m.State("DECIDE"):
                answer = self.o.p
                known = answer.channel_group < self._channel_groups
                m.d.comb += [channel_group.eq(answer.channel_group), write.en.eq(known)]
                m.d.comb += ratio.o.ready.eq(1)
                self._decide(m, record, _clamped(record.wanted, least, most), write.data)
                m.d.sync += answer.normalised_variance.eq(ratio.o.payload)
                with m.If(~known):
                    m.d.sync += self.o.payload.eq(0)
                    m.d.sync += answer.channel_group.eq(answer.channel_group)
                    m.d.sync += answer.unknown.eq(1)
                m.next = "DECIDED"
            with m.State("DECIDED"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "IDLE"
        return m

    def _compare(self, m: Module, record: data.View, normalised: Value) -> tuple[Signal, Signal]:
        """Ranks between which what is wanted must be."""
        least, most = Signal(2), Signal(2)
        thresholds = [record[name] for name in THRESHOLDS]
        m.d.sync += [
            least.eq(sum(normalised > t + record.hysteresis for t in thresholds)),
            most.eq(sum(normalised + record.hysteresis >= t for t in thresholds)),
        ]
        return least, most

    def _decide(self, m: Module, record: data.View, asked: Value, after: data.View) -> None:
        """The decision, and the record after it."""
        wanted, chosen = Signal(2), Signal(2)
        switched, overridden = wanted != record.wanted, chosen != wanted
        m.d.comb += [
            wanted.eq(Mux(record.dwell.any(), record.wanted, asked)),
            chosen.eq(_clamped(wanted, record.floor, record.ceiling)),
            after.eq(record),
            *(after[name].eq(0) for name, _ in PrecisionRecord if str(name).startswith("_")),
            after.wanted.eq(wanted),
            after.dwell.eq(Mux(switched, record.dwell_length, record.dwell - record.dwell.any())),
            after.switches.eq(record.switches + switched),
            after.overrides.eq(record.overrides + overridden),
        ]
        m.d.sync += [
            self.o.p.wanted.eq(wanted),
            self.o.p.precision.eq(len(THRESHOLDS) - chosen),
            self.o.p.switched.eq(switched),
            self.o.p.overridden.eq(overridden),
            self.o.p.unknown.eq(0),
        ]


def _clamped(value: Value, low: Value, high: Value) -> Value:
    """``min(max(value, low), high)``."""
    raised = Mux(value < low, low, value)
    return Mux(raised > high, high, raised)
