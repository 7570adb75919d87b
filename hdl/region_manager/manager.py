"""The Region Manager: it takes energies, and decides."""

from amaranth.hdl import Cat, Const, Module, Mux, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.units.region_manager import (
    Decision,
    DecisionStatus,
    Policy,
    RegionParameters,
    RegionStep,
    RegionUpdate,
)
from adagrain.models.region_manager.averages import LOGARITHM_BITS
from adagrain.models.region_manager.table import ENERGY_BITS

from .judge import Question
from .layouts import HEAD_WORDS, RECORD_WORDS, WORD_BITS, Word
from .parts import Parts

__all__ = ["RegionManager"]


class RegionManager(wiring.Component):
    """Keeps the region table and decides, one region at a time.

    Twin of :class:`adagrain.models.region_manager.table.RegionTable`, bit for bit. A decision is
    offered at most ``configuration.decision_cycles`` cycles after its update is seen; the update
    is taken in the cycle before. One thing is served at a time; where several wait, parameters
    go first, then accesses, steps, updates. All of them wait while a decision is not taken.
    An update that is refused leaves its record as it was, and says why.

    It does not check that parameters make sense: ``workers`` must be from 1 to 1024.

    Parameters
    ----------
    configuration : Configuration
        Size of the table, and the promised cycles.

    Members
    -------
    i_step : ``In(stream.Signature(RegionStep))``
        Start of a step. Taken when the loss averages and the epoch are up to date.
    i : ``In(stream.Signature(RegionUpdate))``
        Energies of a region.
    o : ``Out(stream.Signature(Decision))``
        One decision for each, in order.
    i_parameters : ``In(stream.Signature(RegionParameters))``
        Replaces all parameters.
    parameters : ``Out(RegionParameters)``
        The parameters, with the loss averages and the epoch of now.
    i_access : ``In(stream.Signature({address, write, data}))``
        Reads or writes one 64-bit word of the table; eight make a record. ``address`` must be
        inside the table.
    o_access : ``Out(stream.Signature(64))``
        Words that were read.
    decisions : ``Out(32)``
        Updates answered since reset.
    decision_cycles : ``Out(32)``
        Most cycles that one of them took, from the first in which it was seen to the one before
        its decision was offered.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._words = configuration.regions * RECORD_WORDS
        access = data.StructLayout(
            {"address": range(self._words), "write": unsigned(1), "data": unsigned(WORD_BITS)}
        )
        super().__init__(
            {
                "i_step": In(stream.Signature(RegionStep)),
                "i": In(stream.Signature(RegionUpdate)),
                "o": Out(stream.Signature(Decision)),
                "i_parameters": In(stream.Signature(RegionParameters)),
                "parameters": Out(RegionParameters),
                "i_access": In(stream.Signature(access)),
                "o_access": Out(stream.Signature(WORD_BITS)),
                "decisions": Out(32),
                "decision_cycles": Out(32),
            }
        )

    @property
    def configuration(self) -> Configuration:
        """What it is built with."""
        return self._configuration

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Parts(self._configuration)
        p.add_to(m)
        p.connect(m, self.i.payload, self.i_step.payload, self.parameters)
        p.route_words(m, self.i.payload, self.i_step.payload, self.parameters)
        p.take_in(m)
        p.compose(m, self.o.payload)
        self._count(m, p)
        with m.FSM():
            self._serve(m, p)
            self._begin_step(m, p)
            self._gather(m, p)
            self._average(m, p)
            self._agree(m, p)
            self._decide(m, p)
            self._answer(m, p)
        return m

    def _count(self, m: Module, p: Parts) -> None:
        """Count decisions, and the cycles of the longest one."""
        m.d.comb += self.decision_cycles.eq(p.longest)
        m.d.sync += p.elapsed.eq(p.elapsed + 1)
        with m.If(self.i.ready):
            m.d.sync += self.decisions.eq(self.decisions + 1)
            with m.If(p.elapsed > p.longest):
                m.d.sync += p.longest.eq(p.elapsed)

    def _serve(self, m: Module, p: Parts) -> None:
        access = self.i_access.payload
        with m.State("IDLE"):
            m.d.sync += [p.elapsed.eq(1), p.gathered.eq(0), p.stored.eq(0), p.crowded.eq(0)]
            m.d.sync += [p.guarded.eq(0), p.stepping.eq(0)]
            with m.If(self.i_parameters.valid):
                m.d.comb += self.i_parameters.ready.eq(1)
                m.d.sync += self.parameters.eq(self.i_parameters.payload)
            with m.Elif(self.i_access.valid):
                m.d.comb += [
                    self.i_access.ready.eq(1),
                    p.read.addr.eq(access.address),
                    p.read.en.eq(~access.write),
                    p.write.addr.eq(access.address),
                    p.write.data.eq(access.data),
                    p.write.en.eq(access.write),
                ]
                with m.If(~access.write):
                    m.next = "WORD"
            with m.Elif(self.i_step.valid):
                m.d.sync += p.stepping.eq(1)
                m.next = "LOSS"
            with m.Elif(self.i.valid):
                m.d.sync += p.region.eq(self.i.payload.region)
                m.next = "HEAD"
        with m.State("WORD"):
            m.d.comb += [self.o_access.valid.eq(1), self.o_access.payload.eq(p.read.data)]
            with m.If(self.o_access.ready):
                m.next = "IDLE"

    def _begin_step(self, m: Module, p: Parts) -> None:
        """Bring the run's averages up to date; find the loss rate, and whether to raise alarm."""
        step, run, words = self.i_step.payload, self.parameters, p.words
        self._sweep(m, p, "LOSS", Word.LOSS_LEVEL, Word.LOSS_LEVEL, average=True, then="LOSS_NOTED")
        self._wait(m, p, "LOSS_NOTED", then="LOSS_LEVEL")
        self._load(m, p, "LOSS_LEVEL", Word.LOSS_LEVEL, then="LOSS_LOGARITHM")
        self._take_logarithm(m, p, "LOSS_LOGARITHM", Const(0), then="LOSS_AVERAGE")
        self._sweep(
            m, p, "LOSS_AVERAGE", Word.LOSS_FAST, Word.LOSS_SLOW, average=True, then="LOSS_AVERAGED"
        )
        self._wait(m, p, "LOSS_AVERAGED", then="LOSS_PAIR")
        self._load(m, p, "LOSS_PAIR", Word.LOSS_FAST, then="LOSS_RATE")
        with m.State("LOSS_RATE"), m.If(words.loaded):
            m.d.comb += self.i_step.ready.eq(1)
            m.d.sync += [p.loss_rate.eq(0), p.alarm.eq(0)]
            with m.If(step.loss_valid | run.loss_valid):
                m.d.sync += [
                    run.loss_valid.eq(1),
                    p.loss_rate.eq(p.fall),
                    p.alarm.eq((run.guard != 0) & (p.fall + run.guard < 0)),
                ]
            with m.If(step.epoch_end & (run.epoch != 65535)):
                m.d.sync += run.epoch.eq(run.epoch + 1)
            m.next = "IDLE"

    def _gather(self, m: Module, p: Parts) -> None:
        """Fetch the record's head; see how large its sums and the update's energies are."""
        update, record, words = self.i.payload, p.record, p.words
        regions = self._configuration.regions
        self._sweep(m, p, "HEAD", 0, HEAD_WORDS - 1, then="NOTE")
        self._sweep(m, p, "NOTE", Word.A, Word.N_LEVEL, average=True, then="SUMS_IN")
        self._sweep(m, p, "SUMS_IN", Word.A_SUM, Word.N_SUM, then="CHECK")
        with m.State("CHECK"), m.If(~words.busy):
            m.d.sync += [
                p.gathered.eq(1),
                p.held.eq(~(update.usable & update.a.any())),
                p.status.eq(DecisionStatus.OK),
                p.before.eq(Cat(record.state, record.cadence)),
                record.confidence.eq(_judged(update, record.confidence)),
            ]
            m.next = "LEVEL"
            with m.If(update.region >= regions):
                self._refuse(m, p, DecisionStatus.BAD_REGION)
            with m.Elif(~record.valid):
                self._refuse(m, p, DecisionStatus.NOT_CONFIGURED)
            with m.Elif((update.a | update.n)[ENERGY_BITS:].any()):
                self._refuse(m, p, DecisionStatus.BAD_ENERGY)

    def _refuse(self, m: Module, p: Parts, status: DecisionStatus) -> None:
        m.d.comb += self.i.ready.eq(1)
        m.d.sync += [
            p.status.eq(status),
            p.record.eq(0),
            p.before.eq(0),
            p.held.eq(0),
            p.rate.eq(0),
        ]
        m.next = "OFFER"

    def _average(self, m: Module, p: Parts) -> None:
        """Divide the energies; meanwhile let the wide words take in the update."""
        update, ratio = self.i.payload, p.ratio
        self._load(m, p, "LEVEL", Word.N_LEVEL, then="ENERGIES")
        self._load(m, p, "ENERGIES", Word.A, then="LOGARITHM")
        self._take_logarithm(m, p, "LOGARITHM", update.exponent, then="ENERGIES_IN")
        with m.State("ENERGIES_IN"), m.If(p.words.loaded):
            m.next = "AGREEMENT"
        self._ask(m, p, "AGREEMENT", Question.AGREEMENT, then="DIVIDE")
        with m.State("DIVIDE"):
            m.d.comb += ratio.i.valid.eq(1)
            m.next = "AVERAGE"
        self._sweep(m, p, "AVERAGE", Word.STALL, Word.N_SUM, average=True, then="TIMES")

    def _agree(self, m: Module, p: Parts) -> None:
        """Ask what the policy wants to know, and let α take in the quotient."""
        update, record, words = self.i.payload, p.record, p.words
        self._load(m, p, "TIMES", Word.STALL, then="TIMES_IN")
        with m.State("TIMES_IN"), m.If(words.loaded):
            m.next = "GAIN"
        self._ask(m, p, "GAIN", Question.GAIN, then="ALPHA")
        with m.State("ALPHA"):
            m.d.comb += p.ratio.o.ready.eq(1)
            with m.If(p.ratio.o.valid):
                self._take_update(m, p)
                m.next = "RATES"
                with m.If(update.decide):
                    m.next = "SPECULATION"
                    with m.If(record.policy == Policy.SEED_LITERAL):
                        m.next = "VARIANCE"
        self._ask(m, p, "VARIANCE", Question.VARIANCE, then="SPECULATION")

    def _take_update(self, m: Module, p: Parts) -> None:
        """Bring the head up to date with what its wide words have taken in."""
        update, record = self.i.payload, p.record
        with m.If(update.usable):
            m.d.sync += [
                record.exponent.eq(update.exponent),
                record.samples.eq(record.samples + (record.samples != 65535)),
            ]
            with m.If(p.words.fresh_sums):
                m.d.sync += record.samples.eq(1)
        with m.If(~p.held):
            p.average_alpha(m)

    def _decide(self, m: Module, p: Parts) -> None:
        """Choose the state; then find the rate, and choose the cadence."""
        decide, words = self.i.payload.decide, p.words
        with m.State("SPECULATION"):
            _assign(m, p.record, p.speculation.choice)
            m.next = "RATES"
        self._load(m, p, "RATES", Word.N_FAST, then="SUMS")
        self._load(m, p, "SUMS", Word.A_SUM, then="RATE")
        with m.State("RATE"), m.If(words.loaded):
            m.d.sync += p.rate.eq(p.fall)
            m.next = "STORE_0"
            with m.If(decide):
                m.next = "SUMS_READY"
        with m.State("SUMS_READY"), m.If(words.loaded):
            m.next = "NOISE"
        self._ask(m, p, "NOISE", Question.NOISE, then="CADENCE")
        with m.State("CADENCE"):
            _assign(m, p.record, p.cadence.choice)
            m.d.sync += p.guarded.eq(p.cadence.guarded)
            m.next = "STORE_0"

    def _answer(self, m: Module, p: Parts) -> None:
        """Write the head back, take the update, and offer the decision."""
        record = p.record
        for word, then in enumerate(("STORE_1", "OFFER")):
            with m.State(f"STORE_{word}"):
                m.d.comb += [
                    p.write.en.eq(1),
                    p.write.addr.eq(p.address(Const(word, range(RECORD_WORDS)))),
                    p.write.data.eq(record.as_value().word_select(word, WORD_BITS)),
                    self.i.ready.eq(then == "OFFER"),
                ]
                m.next = then
        with m.State("OFFER"):
            m.d.comb += self.o.valid.eq(1)
            with m.If(self.o.ready):
                m.next = "IDLE"

    def _sweep(
        self,
        m: Module,
        p: Parts,
        state: str,
        first: int,
        last: int,
        *,
        then: str,
        average: bool = False,
    ) -> None:
        sweep = p.words.i
        with m.State(state):
            m.d.comb += [
                sweep.valid.eq(1),
                sweep.payload.first.eq(first),
                sweep.payload.last.eq(last),
                sweep.payload.average.eq(average),
            ]
            with m.If(sweep.ready):
                m.next = then

    def _load(self, m: Module, p: Parts, state: str, even: Word, *, then: str) -> None:
        self._sweep(m, p, state, even, even + 1, then=then)

    def _wait(self, m: Module, p: Parts, state: str, *, then: str) -> None:
        with m.State(state), m.If(~p.words.busy):
            m.next = then

    def _take_logarithm(
        self, m: Module, p: Parts, state: str, exponent: Value, *, then: str
    ) -> None:
        """Put a number together whose fraction is loaded: twice the exponent, and its place."""
        with m.State(state), m.If(p.words.loaded):
            octaves = p.words.place + (exponent << 1)
            m.d.sync += p.level.eq(Cat(p.words.y[:LOGARITHM_BITS], octaves))
            m.next = then

    def _ask(self, m: Module, p: Parts, state: str, question: Question, *, then: str) -> None:
        with m.State(state):
            m.d.comb += [p.judge.question.eq(question), p.judge.start.eq(1)]
            m.next = f"{state}_ANSWER"
        with m.State(f"{state}_ANSWER"), m.If(p.judge.done):
            m.next = then


def _judged(update: data.View, confidence: Value) -> Value:
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
