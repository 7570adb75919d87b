"""The region that is being decided: its small fields, in registers, and what becomes of them."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.interface.units.region_manager import (
    Decision,
    DecisionStatus,
    RegionUpdate,
)
from adagrain.models.region_manager.averages import ALPHA_BITS
from adagrain.models.region_manager.table import ENERGY_BITS

from .cadence import Cadence
from .comparator import Comparisons
from .layouts import HEAD_WORDS, WORD_BITS, Head, RunSignature, WordStream, check_regions
from .learning import Learning
from .speculation import Speculation

__all__ = ["Orders", "Region"]

#: What is done in a cycle.
Orders = data.StructLayout(
    {
        "begin": unsigned(1),  # take an update's region
        "check": unsigned(1),  # refuse the update, or let the confidence take it in
        "learn": unsigned(1),  # let α take in the quotient; count the update
        "speculate": unsigned(1),  # choose state, gain and percentage
        "rate": unsigned(1),  # keep the rate that is loaded
        "pace": unsigned(1),  # choose the cadence
        "store": unsigned(HEAD_WORDS),  # write this word of the head
    }
)


class Region(wiring.Component):
    """Holds what an update's region is, and lets the rules change it, one order at a time.

    Each order is carried out by the end of its cycle. An update that is refused makes all of the
    decision 0, but for region and status.

    Parameters
    ----------
    regions : int
        Size of the table, 1 to 8192.

    Members
    -------
    orders : ``In(Orders)``
        What to do in this cycle.
    update : ``In(RegionUpdate)``
        The update; stable from ``begin`` until it is checked, learnt and decided.
    i_arrived : ``In(WordStream)``
        Words of the region; its head is kept, the others pass by.
    quotient : ``In(16)``
        The update's agreement, Q0.16, when it is learnt.
    fresh : ``In(1)``
        The sums start anew with the update.
    fall : ``In(signed(16))``
        The rate, when it is kept.
    run : ``In(RunSignature())``
        What the run is like.
    comparisons : ``In(Comparisons)``
        What the rules ask for, when they choose.
    record : ``Out(Head)``
        The region as it is now.
    number : ``Out(16)``
        Its number.
    alpha_held : ``Out(1)``
        The update says nothing about α; known when it has been checked.
    refusal : ``Out(DecisionStatus)``
        Why the update must be refused, once the head is there.
    o_head : ``Out(WordStream)``
        Words of the head to write.
    decision : ``Out(Decision)``
        The answer.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, regions: int) -> None:
        check_regions(regions)
        self._regions = regions
        super().__init__(
            {
                "orders": In(Orders),
                "update": In(RegionUpdate),
                "i_arrived": In(WordStream),
                "quotient": In(16),
                "fresh": In(1),
                "fall": In(signed(16)),
                "run": In(RunSignature()),
                "comparisons": In(Comparisons),
                "record": Out(Head),
                "number": Out(16),
                "alpha_held": Out(1),
                "refusal": Out(DecisionStatus),
                "o_head": Out(WordStream),
                "decision": Out(Decision),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        before, status = Signal(6), Signal(DecisionStatus)  # state and cadence before the update
        guarded, rate = Signal(), Signal(signed(16))
        self._gather(m)
        self._check(m, before, status, rate)
        self._change(m, guarded, rate)
        self._store(m)

        record, decision = self.record, self.decision
        for field in ("state", "confidence", "percentage", "gain", "cadence", "dwell"):
            m.d.comb += decision[field].eq(record[field])
        m.d.comb += [
            decision.alpha.eq(record.alpha[ALPHA_BITS:]),
            decision.region.eq(self.number),
            decision.status.eq(status),
            decision.changed.eq(_watched(record) != before),
            decision.alpha_held.eq(self.alpha_held),
            decision.guarded.eq(guarded),
            decision.rate.eq(rate),
            decision.loss_rate.eq(Mux(status == DecisionStatus.OK, self.run.loss_rate, 0)),
        ]
        return m

    def _gather(self, m: Module) -> None:
        with m.If(self.orders.begin):
            m.d.sync += self.number.eq(self.update.region)
        with m.If(self.i_arrived.valid), m.Switch(self.i_arrived.p.word):
            for word in range(HEAD_WORDS):
                with m.Case(word):
                    kept = slice(word * WORD_BITS, (word + 1) * WORD_BITS)
                    m.d.sync += self.record.as_value()[kept].eq(self.i_arrived.p.data)

    def _check(self, m: Module, before: Signal, status: Signal, rate: Signal) -> None:
        update, record, refusal = self.update, self.record, self.refusal
        with m.If(update.region >= self._regions):
            m.d.comb += refusal.eq(DecisionStatus.BAD_REGION)
        with m.Elif(~record.valid):
            m.d.comb += refusal.eq(DecisionStatus.NOT_CONFIGURED)
        with m.Elif((update.a | update.n)[ENERGY_BITS:].any()):
            m.d.comb += refusal.eq(DecisionStatus.BAD_ENERGY)

        with m.If(self.orders.check):
            m.d.sync += [
                status.eq(refusal),
                self.alpha_held.eq(~(update.usable & update.a.any())),
                before.eq(_watched(record)),
                record.confidence.eq(_revised(update, record.confidence)),
            ]
            with m.If(refusal != DecisionStatus.OK):
                m.d.sync += [record.eq(0), before.eq(0), self.alpha_held.eq(0), rate.eq(0)]

    def _change(self, m: Module, guarded: Signal, rate: Signal) -> None:
        """Let the rules see the record, and the record become what they choose."""
        m.submodules.learning = learning = Learning()
        m.submodules.speculation = speculation = Speculation()
        m.submodules.cadence = cadence = Cadence()
        m.d.comb += [
            learning.record.eq(self.record),
            learning.update.eq(self.update),
            learning.quotient.eq(self.quotient),
            learning.fresh.eq(self.fresh),
            learning.alpha_held.eq(self.alpha_held),
            speculation.record.eq(self.record),
            speculation.parameters.eq(self.run.parameters),
            speculation.loss_rate.eq(self.run.loss_rate),
            speculation.comparisons.eq(self.comparisons),
            cadence.record.eq(self.record),
            cadence.parameters.eq(self.run.parameters),
            cadence.alarm.eq(self.run.alarm),
            cadence.comparisons.eq(self.comparisons),
        ]
        with m.If(self.orders.begin):
            m.d.sync += guarded.eq(0)
        with m.If(self.orders.learn):
            _assign(m, self.record, learning.choice)
        with m.If(self.orders.speculate):
            _assign(m, self.record, speculation.choice)
        with m.If(self.orders.rate):
            m.d.sync += rate.eq(self.fall)
        with m.If(self.orders.pace):
            _assign(m, self.record, cadence.choice)
            m.d.sync += guarded.eq(cadence.guarded)

    def _store(self, m: Module) -> None:
        for word in range(HEAD_WORDS):
            with m.If(self.orders.store[word]):
                m.d.comb += [
                    self.o_head.valid.eq(1),
                    self.o_head.p.word.eq(word),
                    self.o_head.p.data.eq(self.record.as_value().word_select(word, WORD_BITS)),
                ]


def _watched(record: data.View) -> Value:
    """The fields whose change a decision tells."""
    return Cat(record.state, record.cadence)


def _revised(update: data.View, confidence: Value) -> Value:
    """The accept counter: up where 7 of 8 trials were accepted, down by 2 where not 1 of 4."""
    accepts, trials = update.accepts, update.trials
    up = (trials != 0) & (accepts << 3 >= (trials << 3) - trials)
    down = accepts << 2 < trials
    raised = Mux(confidence == 7, 7, confidence + 1)
    lowered = Mux(confidence < 2, 0, confidence - 2)
    return Mux(up, raised, Mux(down, lowered, confidence))


def _assign(m: Module, record: data.View, choice: data.View) -> None:
    for field, _ in choice.shape():
        m.d.sync += record[field].eq(choice[field])
