"""The barrel shifter of the pipeline: for a new exponent, for a pair, and for a logarithm."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.region_manager.averages import FAST, LOGARITHM_BITS, SLOW

from .layouts import (
    LEVEL_BITS,
    WORD_BITS,
    Places,
    Stage,
    SumsIntake,
    Word,
    in_pair,
    is_number,
)

__all__ = ["Shift"]

#: Largest shift to the left, of a sum that goes to a smaller exponent.
_HEADROOM = 14

#: Place of the highest one that a normalised pair, and a pair of sums, may have.
_TOP, _TOP_OF_SUMS = 31, 21


class Shift(wiring.Component):
    """Brings a sum to the update's exponent, a pair below 2**32, or a number to its logarithm.

    One word per cycle, latency 1; how far is found the cycle before.

    Members
    -------
    coming, arrived : ``In(Stage)``
        What is on ``word`` in the next cycle, and in this one.
    word : ``In(64)``
        The word.
    places : ``In(Places)``
        Of the highest ones of what is normalised.
    sums : ``In(SumsIntake)``
        How far sums go that are averaged.
    exponent : ``In(8)``
        Of the update.
    stage : ``Out(Stage)``
        What is on ``shifted``; valid where it is to be averaged.
    shifted : ``Out(64)``
        The shifted word.
    x, y : ``Out(32)``, loaded : ``Out(1)``, fall : ``Out(signed(16))``
        As in :class:`~adagrain.hdl.region_manager.words.Words`.
    level : ``Out(20)``
        The logarithm of what was shifted last of a loss, or of an N: of this with twice the
        exponent, in octaves, 10 bits below.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "coming": In(Stage),
                "arrived": In(Stage),
                "word": In(WORD_BITS),
                "places": In(Places),
                "sums": In(SumsIntake),
                "exponent": In(8),
                "stage": Out(Stage),
                "shifted": Out(WORD_BITS),
                "x": Out(32),
                "y": Out(32),
                "loaded": Out(1),
                "fall": Out(signed(16)),
                "level": Out(LEVEL_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        arrived, shifted = self.arrived, self.shifted
        right = self._right(m)
        m.d.sync += [
            self.stage.eq(arrived),
            self.stage.valid.eq(arrived.valid & arrived.average),
            self.loaded.eq(arrived.valid & arrived.word[0] & ~arrived.average),
        ]
        with m.If(arrived.valid):
            m.d.sync += [
                shifted.eq(Cat(Const(0, _HEADROOM), self.word) >> right),
                self.x.eq(shifted),
            ]
        m.d.comb += [
            self.y.eq(shifted),
            self.fall.eq(_saturated((self.y - self.x) >> SLOW)),
        ]

        scale = Mux(in_pair(self.stage.word, Word.N_LEVEL), self.exponent << 1, 0)
        with m.If(self.loaded & is_number(self.stage.word)):
            octaves = self.places.number + scale
            m.d.sync += self.level.eq(Cat(shifted[:LOGARITHM_BITS], octaves))
        return m

    def _right(self, m: Module) -> Signal:
        """By how many bits the word that is coming is shifted, from ``_HEADROOM`` on the left."""
        word, right = self.coming.word, Signal(range(WORD_BITS))
        m.d.sync += right.eq(_HEADROOM)
        with m.If(self.coming.average):
            with m.If(in_pair(word, Word.A_SUM) & ~self.sums.hold):
                m.d.sync += right.eq(_HEADROOM + 2 * self.sums.rescale + self.sums.halve)
        with m.Elif(is_number(word)):
            m.d.sync += right.eq(_HEADROOM - LOGARITHM_BITS + self.places.number)
        with m.Elif((word == Word.N_FAST) | (word == Word.LOSS_FAST)):
            m.d.sync += right.eq(_HEADROOM - (SLOW - FAST))
        with m.Else():
            place, top = Signal(6), Mux(in_pair(word, Word.A_SUM), _TOP_OF_SUMS, _TOP)
            with m.If(in_pair(word, Word.STALL)):
                m.d.comb += place.eq(self.places.times)
            with m.Elif(in_pair(word, Word.A_SUM)):
                m.d.comb += place.eq(self.places.sums)
            with m.Elif(in_pair(word, Word.A)):
                m.d.comb += place.eq(self.places.energies)
            m.d.sync += right.eq(_HEADROOM + Mux(place > top, place - top, 0))
        return right


def _saturated(octaves: Value) -> Value:
    """The nearest number of 16 bits."""
    return Mux(octaves > 32767, 32767, Mux(octaves < -32768, -32768, octaves))
