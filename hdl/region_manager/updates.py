"""Sequence of an update: its region is fetched, averaged, compared and decided."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.arithmetic.ratio import Ratio
from adagrain.models.interface.units.region_manager import (
    Decision,
    DecisionStatus,
    RegionUpdate,
    SpeculationPolicy,
)

from .comparator import ComparatorSignature, Question
from .layouts import (
    HEAD_WORDS,
    Head,
    Intake,
    RunSignature,
    SumsIntake,
    Word,
    WordStream,
    check_regions,
)
from .region import Region
from .sums import Sums
from .sweeps import WordsSignature, load, sweep, wait

__all__ = ["Updates"]

#: States in front of those that ask: a question comes from a register, for a product is to follow
#: in the same cycle.
_CHOICES = {
    "ENERGIES_IN": Question.AGREEMENT,
    "TIMES_IN": Question.GAIN,
    "ALPHA": Question.VARIANCE,
    "SUMS_READY": Question.NOISE,
}


class Updates(wiring.Component):
    """Lets a region take in its update, and decides.

    An update is taken at most 63 cycles after it is seen, and its decision offered in the next one;
    one at a time. An update that is refused leaves its record as it was, and says why.

    Parameters
    ----------
    regions : int
        Size of the table, 1 to 8192.

    Members
    -------
    i : ``In(stream.Signature(RegionUpdate))``
        Energies of a region.
    o : ``Out(stream.Signature(Decision))``
        One decision for each, in order.
    busy : ``Out(1)``
        An update is at work, or its decision not taken.
    region : ``Out(16)``
        Number of the region that is being decided.
    record : ``Out(Head)``
        Its small fields.
    words : ``Out(WordsSignature())``
        The pipeline through which its wide words go.
    i_arrived : ``In(WordStream)``
        What has been read of the region.
    levels : ``Out(Intake)``, sums : ``Out(SumsIntake)``
        How its averages take in the update.
    o_head : ``Out(WordStream)``
        Its small fields, to be written.
    comparator : ``Out(ComparatorSignature())``
        What the rules want to know of the pair that is loaded.
    run : ``In(RunSignature())``
        What the run is like; stable while an update is at work.

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
                "i": In(stream.Signature(RegionUpdate)),
                "o": Out(stream.Signature(Decision)),
                "busy": Out(1),
                "region": Out(16),
                "record": Out(Head),
                "words": Out(WordsSignature()),
                "i_arrived": In(WordStream),
                "levels": Out(Intake),
                "sums": Out(SumsIntake),
                "o_head": Out(WordStream),
                "comparator": Out(ComparatorSignature()),
                "run": In(RunSignature()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.region = region = Region(self._regions)
        m.submodules.sums = sums = Sums()
        m.submodules.ratio = ratio = Ratio(unroll=1)
        self._wire(m, region, sums, ratio)
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.comb += region.orders.begin.eq(1)
                with m.If(self.i.valid):
                    m.next = "HEAD"
            self._gather(m, region, sums)
            self._average(m, ratio)
            self._agree(m, region, ratio)
            self._decide(m, region)
            self._answer(m, region)
        for state, question in _CHOICES.items():
            with m.If(fsm.ongoing(state)):
                m.d.sync += self.comparator.question.payload.eq(question)
        m.d.comb += self.busy.eq(~fsm.ongoing("IDLE"))
        return m

    def _wire(self, m: Module, region: Region, sums: Sums, ratio: Ratio) -> None:
        for watcher in (region, sums):
            m.d.comb += [
                watcher.i_arrived.valid.eq(self.i_arrived.valid),
                watcher.i_arrived.payload.eq(self.i_arrived.payload),
            ]
        m.d.comb += [
            region.update.eq(self.i.payload),
            region.quotient.eq(ratio.o.payload),
            region.fresh.eq(sums.intake.fresh),
            region.fall.eq(self.words.fall),
            region.comparisons.eq(self.comparator.comparisons),
            sums.clear.eq(region.orders.begin),
            sums.update.eq(self.i.payload),
            sums.record.eq(region.record),
            ratio.i.p.x.eq(self.comparator.agreement),
            ratio.i.p.y.eq(self.words.x),
            self.region.eq(region.number),
            self.record.eq(region.record),
            self.levels.fresh.eq(region.record.measured == 0),
            self.levels.hold.eq(region.alpha_held),
            self.sums.eq(sums.intake),
            self.o.payload.eq(region.decision),
        ]
        connect(m, flipped(self.run), region.run)
        connect(m, region.o_head, flipped(self.o_head))

    def _gather(self, m: Module, region: Region, sums: Sums) -> None:
        """Fetch the record's head; see how large its sums and the update's energies are."""
        words = self.words
        sweep(m, words, "HEAD", 0, HEAD_WORDS - 1, then="NOTE")
        sweep(m, words, "NOTE", Word.A, Word.N_LEVEL, average=True, then="SUMS_IN")
        sweep(m, words, "SUMS_IN", Word.A_SUM, Word.N_SUM, then="CHECK")
        with m.State("CHECK"):
            m.d.comb += sums.look.eq(1)
            with m.If(~words.busy):
                m.d.comb += region.orders.check.eq(1)
                m.next = "LEVEL"
                with m.If(region.refusal != DecisionStatus.OK):
                    m.d.comb += self.i.ready.eq(1)
                    m.next = "OFFER"

    def _average(self, m: Module, ratio: Ratio) -> None:
        """Divide the energies; meanwhile let the wide words take in the update."""
        words = self.words
        load(m, words, "LEVEL", Word.N_LEVEL, then="ENERGIES")
        load(m, words, "ENERGIES", Word.A, then="LEVEL_IN")
        wait(m, "LEVEL_IN", words.loaded, then="ENERGIES_IN")
        wait(m, "ENERGIES_IN", words.loaded, then="AGREEMENT")
        self._ask(m, "AGREEMENT", then="DIVIDE")
        with m.State("DIVIDE"):
            m.d.comb += ratio.i.valid.eq(1)
            m.next = "AVERAGE"
        sweep(m, words, "AVERAGE", Word.STALL, Word.N_SUM, average=True, then="TIMES")

    def _agree(self, m: Module, region: Region, ratio: Ratio) -> None:
        """Ask what the policy wants to know, and let α take in the quotient."""
        load(m, self.words, "TIMES", Word.STALL, then="TIMES_IN")
        wait(m, "TIMES_IN", self.words.loaded, then="GAIN")
        self._ask(m, "GAIN", then="ALPHA")
        with m.State("ALPHA"):
            m.d.comb += [ratio.o.ready.eq(1), region.orders.learn.eq(ratio.o.valid)]
            with m.If(ratio.o.valid):
                m.next = "RATES"
                with m.If(self.i.p.decide):
                    m.next = "SPECULATION"
                    with m.If(region.record.policy == SpeculationPolicy.SEED_LITERAL):
                        m.next = "VARIANCE"
        self._ask(m, "VARIANCE", then="SPECULATION")

    def _decide(self, m: Module, region: Region) -> None:
        """Choose the state; then find the rate, and choose the cadence."""
        words = self.words
        with m.State("SPECULATION"):
            m.d.comb += region.orders.speculate.eq(1)
            m.next = "RATES"
        load(m, words, "RATES", Word.N_FAST, then="SUMS")
        load(m, words, "SUMS", Word.A_SUM, then="RATE")
        with m.State("RATE"), m.If(words.loaded):
            m.d.comb += region.orders.rate.eq(1)
            m.next = "STORE_0"
            with m.If(self.i.p.decide):
                m.next = "SUMS_READY"
        wait(m, "SUMS_READY", words.loaded, then="NOISE")
        self._ask(m, "NOISE", then="CADENCE")
        with m.State("CADENCE"):
            m.d.comb += region.orders.pace.eq(1)
            m.next = "STORE_0"

    def _answer(self, m: Module, region: Region) -> None:
        """Write the head back, take the update, and offer the decision."""
        for word, then in enumerate(("STORE_1", "OFFER")):
            with m.State(f"STORE_{word}"):
                m.d.comb += [region.orders.store[word].eq(1), self.i.ready.eq(then == "OFFER")]
                m.next = then
        with m.State("OFFER"):
            m.d.comb += self.o.valid.eq(1)
            with m.If(self.o.ready):
                m.next = "IDLE"

    def _ask(self, m: Module, state: str, *, then: str) -> None:
        """A state that has the question that was chosen answered."""
        port = self.comparator.question
        with m.State(state):
            m.d.comb += port.valid.eq(1)
            with m.If(port.ready):
                m.next = then
