"""The end of the pipeline: averages take in values, and what they become is looked at."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.leading_zeros import leading_zeros
from adagrain.models.interface.units.region_manager import RegionUpdate
from adagrain.models.region_manager.averages import FAST, SLOW, TIME_SHIFT

from .layouts import (
    LEVEL_BITS,
    WORD_BITS,
    Intake,
    Places,
    Stage,
    SumsIntake,
    Word,
    WordStream,
    in_pair,
    is_input,
    is_number,
)

__all__ = ["Average"]

#: Which value each word takes in, and the shift of its decay; sums do not decay.
_AVERAGES: dict[Word, tuple[str, int]] = {
    Word.STALL: ("stall", TIME_SHIFT),
    Word.REDO: ("redo", TIME_SHIFT),
    Word.N_FAST: ("level", FAST),
    Word.N_SLOW: ("level", SLOW),
    Word.A_SUM: ("a", 0),
    Word.N_SUM: ("n", 0),
    Word.LOSS_FAST: ("level", FAST),
    Word.LOSS_SLOW: ("level", SLOW),
}

#: Pairs that are normalised together.
_PAIRS = {"times": Word.STALL, "sums": Word.A_SUM, "energies": Word.A}


class Average(wiring.Component):
    """Lets words decay and take in values, then notes the place of their highest one.

    One word per cycle, latency 1, and 2 to the places; no back-pressure. What comes in is only
    noted. Energies of 2**56 or more must not be taken in.

    Members
    -------
    stage : ``In(Stage)``, shifted : ``In(64)``
        A word, which is averaged where valid.
    update : ``In(RegionUpdate)``, level : ``In(20)``
        What words take in.
    levels, losses : ``In(Intake)``, sums : ``In(SumsIntake)``
        How they do.
    o : ``Out(WordStream)``
        New values of words that can change.
    places : ``Out(Places)``
        Of the highest ones: in a pair, that of the higher word.
    busy : ``Out(1)``
        A word is still to be written or noted.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "stage": In(Stage),
                "shifted": In(WORD_BITS),
                "update": In(RegionUpdate),
                "level": In(LEVEL_BITS),
                "levels": In(Intake),
                "losses": In(Intake),
                "sums": In(SumsIntake),
                "o": Out(WordStream),
                "places": Out(Places),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        summed, noted = Signal(Stage), Signal(Stage)
        m.d.sync += [summed.eq(self.stage), noted.eq(summed)]
        m.d.comb += [
            self.o.valid.eq(summed.valid & ~is_input(summed.word)),
            self.o.p.word.eq(summed.word),
            self.busy.eq(self.stage.valid | summed.valid | noted.valid),
        ]
        self._take_in(m)
        self._note(m, noted)
        return m

    def _take_in(self, m: Module) -> None:
        """Let a word decay, then add to it: two cycles, so that no two adders are chained."""
        word, shifted = self.stage.word, self.shifted
        value, decay = Signal(56), Signal(range(SLOW + 1))
        values = {name: self.update[name] for name in ("stall", "redo", "a", "n")}
        values["level"] = self.level
        with m.Switch(word):
            for average, (source, shift) in _AVERAGES.items():
                with m.Case(average):
                    m.d.comb += [value.eq(values[source]), decay.eq(shift)]

        lost, start = Signal(WORD_BITS), Signal(WORD_BITS)
        with m.Switch(decay):
            for shift in sorted({FAST, SLOW, TIME_SHIFT}):
                with m.Case(shift):
                    m.d.comb += [lost.eq(shifted >> shift), start.eq(value << shift)]
            with m.Default():
                m.d.comb += start.eq(value)

        intake, decayed, added = Signal(Intake), Signal(WORD_BITS), Signal(WORD_BITS)
        with m.If(in_pair(word, Word.A_SUM)):
            m.d.comb += [intake.fresh.eq(self.sums.fresh), intake.hold.eq(self.sums.hold)]
        with m.Elif(in_pair(word, Word.N_FAST)):
            m.d.comb += intake.eq(self.levels)
        with m.Elif(in_pair(word, Word.LOSS_FAST)):
            m.d.comb += intake.eq(self.losses)
        with m.Elif(is_input(word)):
            m.d.comb += intake.hold.eq(1)
        m.d.sync += [decayed.eq(shifted - lost), added.eq(value)]
        with m.If(intake.hold):
            m.d.sync += [decayed.eq(shifted), added.eq(0)]
        with m.Elif(intake.fresh):
            m.d.sync += [decayed.eq(0), added.eq(start)]
        m.d.comb += self.o.p.data.eq(decayed + added)

    def _note(self, m: Module, noted: data.View) -> None:
        """Keep the place of the highest one in each pair of results."""
        result, place = Signal(WORD_BITS), Signal(6)
        m.d.sync += result.eq(self.o.p.data)
        m.d.comb += place.eq(~leading_zeros(result))
        with m.If(noted.valid):
            with m.If(is_number(noted.word)):
                m.d.sync += self.places.number.eq(place)
            for name, even in _PAIRS.items():
                kept = self.places[name]
                with m.If(in_pair(noted.word, even) & (~noted.word[0] | (place > kept))):
                    m.d.sync += kept.eq(place)
