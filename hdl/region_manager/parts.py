"""What the states of the Region Manager work with, and how it is wired."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.utils import exact_log2

from adagrain.hdl.arithmetic.ratio import Ratio
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.units.region_manager import DecisionStatus, SpeculationState
from adagrain.models.region_manager.averages import ALPHA_BITS, ALPHA_SHIFTS, SLOW
from adagrain.models.region_manager.table import LARGEST_RESCALE, SUM_BITS

from .cadence import Cadence
from .judge import Judge
from .layouts import HEAD_WORDS, LEVEL_BITS, RECORD_WORDS, WORD_BITS, Head, Word
from .speculation import Speculation
from .words import Words

__all__ = ["Parts"]


class Parts:
    """Submodules and registers of the Region Manager.

    Parameters
    ----------
    configuration : Configuration
        Size of the table, and the promised cycles.
    """

    def __init__(self, configuration: Configuration) -> None:
        words = configuration.regions * RECORD_WORDS
        self.table = Memory(shape=unsigned(WORD_BITS), depth=words, init=[])
        self.read, self.write = self.table.read_port(), self.table.write_port()
        self.words, self.judge, self.ratio = Words(), Judge(), Ratio(unroll=1)
        self.speculation, self.cadence = Speculation(), Cadence()

        self.fetched = Signal(WORD_BITS)  # what was read: a block RAM is too slow to shift at once
        self.region = Signal(16)
        self.record = Signal(Head)
        self.before = Signal(6)  # state and cadence before the update
        self.status = Signal(DecisionStatus)
        self.gathered = Signal()  # the sums have been looked at
        self.stored = Signal(WORD_BITS - SUM_BITS + 2 * LARGEST_RESCALE)  # high bits of the sums
        self.crowded = Signal()  # a sum is near the end of its range
        self.held, self.guarded = Signal(), Signal()
        self.stepping = Signal()  # the loss averages are at work, not a region's
        self.level = Signal(LEVEL_BITS)  # logarithm of the loss or of N
        self.fall = Signal(signed(16))  # of the averages that are loaded
        self.rate, self.loss_rate, self.alarm = Signal(signed(16)), Signal(signed(16)), Signal()
        self.elapsed = Signal(range(4 * configuration.decision_cycles))
        self.longest = Signal.like(self.elapsed)

    def address(self, word: Value) -> Value:
        """Of a word of the region's record."""
        return Cat(word[: exact_log2(RECORD_WORDS)], self.region)

    def add_to(self, m: Module) -> None:
        """Add the submodules."""
        m.submodules.table = self.table
        m.submodules.words = self.words
        m.submodules.judge = self.judge
        m.submodules.ratio = self.ratio
        m.submodules.speculation = self.speculation
        m.submodules.cadence = self.cadence

    def connect(self, m: Module, update: data.View, step: data.View, parameters: data.View) -> None:
        """Wire everything that holds in all states."""
        words, judge, record = self.words, self.judge, self.record
        rise = Signal(signed(9))
        hybrid_or_full = (self.record.state == SpeculationState.HYBRID) | (
            self.record.state == SpeculationState.FULL
        )
        m.d.comb += [
            self.read.addr.eq(self.address(words.read)),
            self.read.en.eq(words.read_valid),
            self.write.addr.eq(self.address(words.write.word)),
            self.write.data.eq(words.write.data),
            words.word.eq(self.fetched),
            words.values.a.eq(update.a),
            words.values.n.eq(update.n),
            words.values.stall.eq(update.stall),
            words.values.redo.eq(update.redo),
            words.values.level.eq(self.level),
            rise.eq(update.exponent - self.record.exponent),
            words.rescale.eq(rise),
            words.halve.eq(self.crowded),
            words.fresh.eq(Mux(self.stepping, ~parameters.loss_valid, record.measured == 0)),
            words.fresh_sums.eq(
                (record.samples == 0) | _too_far(rise) | _overflows(self.stored, rise)
            ),
            words.hold.eq(Mux(self.stepping, ~step.loss_valid, self.held)),
            words.hold_sums.eq(~update.usable),
            judge.x.eq(words.x),
            judge.y.eq(words.y),
            judge.confidence.eq(Mux(hybrid_or_full, self.record.confidence, 4)),
            judge.measured.eq(record.measured.any()),
            judge.alpha.eq(record.alpha[ALPHA_BITS:]),
            judge.parameters.eq(parameters),
            self.ratio.i.payload.x.eq(judge.agreement),
            self.ratio.i.payload.y.eq(words.x),
            self.fall.eq(_saturated((words.y - words.x) >> SLOW)),
            self.speculation.record.eq(self.record),
            self.speculation.parameters.eq(parameters),
            self.speculation.loss_rate.eq(self.loss_rate),
            self.speculation.verdict.eq(judge.verdict),
            self.cadence.record.eq(self.record),
            self.cadence.parameters.eq(parameters),
            self.cadence.alarm.eq(self.alarm),
            self.cadence.verdict.eq(judge.verdict),
        ]

    def average_alpha(self, m: Module) -> None:
        """Let the record's α take in the quotient that is offered."""
        alpha, quotient = self.record.alpha, self.ratio.o.payload
        lost, gained = Signal.like(alpha), Signal.like(alpha)
        with m.Switch(self.record.measured):
            for updates, shift in enumerate(ALPHA_SHIFTS):
                with m.Case(updates):
                    m.d.comb += [
                        lost.eq(alpha >> shift),
                        gained.eq(quotient << ALPHA_BITS - shift),
                    ]
        m.d.sync += alpha.eq(alpha - lost + gained)
        with m.If(self.record.measured != len(ALPHA_SHIFTS) - 1):
            m.d.sync += self.record.measured.eq(self.record.measured + 1)

    def route_words(self, m: Module, update: data.View, step: data.View, run: data.View) -> None:
        """The loss averages live in the parameters; what comes in is taken from the ports."""
        words = self.words
        coming = Signal.like(words.read)
        m.d.sync += [coming.eq(words.read), self.fetched.eq(self.read.data)]
        with m.Switch(coming):
            with m.Case(Word.LOSS_FAST):
                m.d.sync += self.fetched.eq(run.loss_fast)
            with m.Case(Word.LOSS_SLOW):
                m.d.sync += self.fetched.eq(run.loss_slow)
            with m.Case(Word.A):
                m.d.sync += self.fetched.eq(update.a)
            with m.Case(Word.N, Word.N_LEVEL, Word.N_LEVEL + 1):
                m.d.sync += self.fetched.eq(update.n)
            with m.Case(Word.LOSS_LEVEL, Word.LOSS_LEVEL + 1):
                m.d.sync += self.fetched.eq(step.loss)
        with m.If(words.write_valid), m.Switch(words.write.word):
            with m.Case(Word.LOSS_FAST):
                m.d.sync += run.loss_fast.eq(words.write.data)
            with m.Case(Word.LOSS_SLOW):
                m.d.sync += run.loss_slow.eq(words.write.data)
            with m.Default():
                m.d.comb += self.write.en.eq(1)

    def compose(self, m: Module, o: data.View) -> None:
        """The answer, from registers that a refusal clears."""
        record = self.record
        for field in ("state", "confidence", "percentage", "gain", "cadence", "dwell"):
            m.d.comb += o[field].eq(record[field])
        m.d.comb += [
            o.alpha.eq(record.alpha[ALPHA_BITS:]),
            o.region.eq(self.region),
            o.status.eq(self.status),
            o.changed.eq(Cat(record.state, record.cadence) != self.before),
            o.held.eq(self.held),
            o.guarded.eq(self.guarded),
            o.rate.eq(self.rate),
            o.loss_rate.eq(Mux(self.status == DecisionStatus.OK, self.loss_rate, 0)),
        ]

    def take_in(self, m: Module) -> None:
        """Keep what the first look at a record brings: its head, and how large its sums are."""
        words, record, word = self.words, self.record, self.fetched
        with m.If(words.arrived_valid & ~self.gathered):
            with m.Switch(words.arrived):
                for number in range(HEAD_WORDS):
                    with m.Case(number):
                        place = number * WORD_BITS
                        m.d.sync += record.as_value()[place : place + WORD_BITS].eq(word)
                with m.Case(Word.A_SUM, Word.N_SUM):
                    m.d.sync += [
                        self.stored.eq(self.stored | word[-len(self.stored) :]),
                        self.crowded.eq(self.crowded | word[SUM_BITS - 1 :].any()),
                    ]


def _saturated(octaves: Value) -> Value:
    """The nearest number of 16 bits."""
    return Mux(octaves > 32767, 32767, Mux(octaves < -32768, -32768, octaves))


def _too_far(rise: Value) -> Value:
    return (rise > LARGEST_RESCALE) | (rise < -LARGEST_RESCALE)


def _overflows(stored: Value, rise: Value) -> Value:
    """Whether sums with these high bits leave their range when the exponent rises so."""
    fall = Mux(rise < 0, -rise, 0)[:3]
    return (stored << (fall << 1))[2 * LARGEST_RESCALE :].any()
