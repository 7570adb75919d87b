"""The pipeline through which the wide words of a record go."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.float.round import leading_zeros
from adagrain.models.region_manager.averages import FAST, LOGARITHM_BITS, SLOW, TIME_SHIFT

from .layouts import WORD_BITS, Sums, Word

__all__ = ["Sweep", "Words"]

#: Which words to send through, and whether as averages that take in the new values.
Sweep = data.StructLayout({"first": unsigned(4), "last": unsigned(4), "average": unsigned(1)})

_Stage = data.StructLayout({"word": unsigned(4), "valid": unsigned(1), "average": unsigned(1)})

_Write = data.StructLayout({"word": unsigned(4), "data": unsigned(WORD_BITS)})

#: Largest shift to the left, of a sum that goes to a smaller exponent.
_HEADROOM = 14

#: Place of the highest one that a normalised pair, and a pair of sums, may have.
_TOP, _TOP_OF_SUMS = 31, 21

#: Place of a word's highest one.
_Place = unsigned(6)


class Words(wiring.Component):
    """Reads words, one per cycle, shifts them, and averages or normalises them.

    An averaging sweep replaces each word by ``w − (w >> k) + x``, a sum, which is first brought to
    the update's exponent, by ``w + x``, and offers the result for writing four cycles after it was
    asked for. It also notes the highest one of each pair. What comes in (from ``A`` on) is only
    noted, and stays what it is.

    A sweep without averages shifts words right into ``x`` and ``y``: a pair together, until it is
    below 2**32 (the sums: 2**22); a number whose logarithm is taken, either way, to a 1 and the
    logarithm's fraction. Averages of logarithms stay as they are, but the fast one is brought to
    the fraction bits of the slow one.

    A sweep is taken while the previous one is still in the pipeline, one cycle after its last
    word was asked for. A pair may be normalised from five cycles after it was averaged or noted.
    Words 0 and 1 can be swept for the sake of the reads alone.

    Members
    -------
    i : ``In(stream.Signature(Sweep))``
        Words to go through, in ascending order.
    busy : ``Out(1)``
        Words are still to be asked for, to arrive or to be averaged.
    read : ``Out(4)``, ``read_valid`` : ``Out(1)``
        Word asked for.
    word : ``In(64)``
        The word that was asked for two cycles before.
    arrived : ``Out(4)``, ``arrived_valid`` : ``Out(1)``
        Which word that is.
    values : ``In(Sums)``
        What the averages take in. This and the next six ports must be stable while averaging.
    rescale : ``In(signed(4))``
        Octaves by which the exponent rises, −7…7: sums shrink by twice as many bits.
    halve : ``In(1)``
        The sums are halved before they grow.
    fresh, fresh_sums : ``In(1)``
        Averages of logarithms, or sums, start from the values.
    hold, hold_sums : ``In(1)``
        Averages of logarithms, or sums, stay as they are.
    write : ``Out``, ``write_valid`` : ``Out(1)``
        Averaged word and its new value.
    x, y : ``Out(32)``
        The pair that was shifted last, even word and odd word.
    place : ``Out(6)``
        Place of the highest one of the number of a logarithm that was noted last.
    loaded : ``Out(1)``
        High for the first cycle in which ``x`` and ``y`` hold a new pair.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(Sweep)),
                "busy": Out(1),
                "read": Out(4),
                "read_valid": Out(1),
                "word": In(WORD_BITS),
                "arrived": Out(4),
                "arrived_valid": Out(1),
                "values": In(Sums),
                "rescale": In(signed(4)),
                "halve": In(1),
                "fresh": In(1),
                "fresh_sums": In(1),
                "hold": In(1),
                "hold_sums": In(1),
                "write": Out(_Write),
                "write_valid": Out(1),
                "x": Out(32),
                "y": Out(32),
                "place": Out(_Place),
                "loaded": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        asked = self._ask(m)
        coming = Signal(_Stage)
        m.d.sync += coming.eq(asked)
        highest = {pair: Signal(_Place, name=f"highest_{pair}") for pair in _PAIRS}
        shifting, shifted = self._shift(m, coming, highest)
        summing, total = self._average(m, shifting, shifted)
        noting = self._note(m, summing, total, highest)
        m.d.comb += self.busy.eq(
            asked.valid
            | coming.valid
            | self.arrived_valid
            | shifting.valid
            | summing.valid
            | noting.valid
        )
        return m

    def _ask(self, m: Module) -> data.View:
        """Ask for one word per cycle."""
        sweep, busy, asked = Signal(Sweep), Signal(), Signal(_Stage)
        m.d.comb += [
            asked.word.eq(sweep.first),
            asked.valid.eq(busy),
            asked.average.eq(sweep.average),
            self.read.eq(sweep.first),
            self.read_valid.eq(busy),
            self.i.ready.eq(~busy | (sweep.first == sweep.last)),
        ]
        with m.If(busy):
            m.d.sync += sweep.first.eq(sweep.first + 1)
        with m.If(self.i.ready):
            m.d.sync += busy.eq(self.i.valid)
            with m.If(self.i.valid):
                m.d.sync += sweep.eq(self.i.payload)
        return asked

    def _shift(
        self, m: Module, coming: data.View, highest: dict[int, Signal]
    ) -> tuple[data.View, Value]:
        """Bring a sum to the update's exponent, or a pair below 2**32."""
        right = Signal(range(WORD_BITS))
        m.d.sync += right.eq(_HEADROOM)
        with m.If(coming.average):
            with m.If(_is_sum(coming.word) & ~self.hold_sums):
                m.d.sync += right.eq(_HEADROOM + 2 * self.rescale + self.halve)
        with m.Elif(_is_level(coming.word)):
            m.d.sync += right.eq(_HEADROOM - LOGARITHM_BITS + self.place)
        with m.Elif(_is_fast(coming.word)):
            m.d.sync += right.eq(_HEADROOM - (SLOW - FAST))
        with m.Else():
            place = Array(highest.get(pair, 0) for pair in range(8))[coming.word[1:]]
            top = Mux(_is_sum(coming.word), _TOP_OF_SUMS, _TOP)
            m.d.sync += right.eq(_HEADROOM + Mux(place > top, place - top, 0))

        arrived, shifting, shifted = Signal(_Stage), Signal(_Stage), Signal(WORD_BITS)
        m.d.sync += [
            arrived.eq(coming),
            shifting.eq(arrived),
            shifting.valid.eq(arrived.valid & arrived.average),
            self.loaded.eq(arrived.valid & arrived.word[0] & ~arrived.average),
        ]
        with m.If(arrived.valid):
            m.d.sync += [
                shifted.eq(Cat(Const(0, _HEADROOM), self.word) >> right),
                self.x.eq(shifted),
            ]
        m.d.comb += [
            self.arrived.eq(arrived.word),
            self.arrived_valid.eq(arrived.valid),
            self.y.eq(shifted),
        ]
        return shifting, shifted

    def _average(self, m: Module, stage: data.View, shifted: Value) -> tuple[data.View, Value]:
        """Let a word decay, then add to it: two cycles, so that no two adders are chained."""
        value, decay = Signal(56), Signal(range(SLOW + 1))
        with m.Switch(stage.word):
            for word, (source, shift) in _AVERAGES.items():
                with m.Case(word):
                    m.d.comb += [value.eq(self.values[source]), decay.eq(shift)]

        lost, start = Signal(WORD_BITS), Signal(WORD_BITS)
        with m.Switch(decay):
            for shift in sorted({FAST, SLOW, TIME_SHIFT}):
                with m.Case(shift):
                    m.d.comb += [lost.eq(shifted >> shift), start.eq(value << shift)]
            with m.Default():
                m.d.comb += start.eq(value)

        sums, decayed, added = Signal(_Stage), Signal(WORD_BITS), Signal(WORD_BITS)
        fresh, hold = Signal(), Signal()
        with m.If(_is_sum(stage.word)):
            m.d.comb += [fresh.eq(self.fresh_sums), hold.eq(self.hold_sums)]
        with m.Elif(~_is_time(stage.word)):
            m.d.comb += [fresh.eq(self.fresh), hold.eq(self.hold | _is_input(stage.word))]
        m.d.sync += [sums.eq(stage), decayed.eq(shifted - lost), added.eq(value)]
        with m.If(hold):
            m.d.sync += [decayed.eq(shifted), added.eq(0)]
        with m.Elif(fresh):
            m.d.sync += [decayed.eq(0), added.eq(start)]
        m.d.comb += [
            self.write.word.eq(sums.word),
            self.write.data.eq(decayed + added),
            self.write_valid.eq(sums.valid & ~_is_input(sums.word)),
        ]
        return sums, self.write.data

    def _note(
        self, m: Module, stage: data.View, total: Value, highest: dict[int, Signal]
    ) -> data.View:
        """Keep the place of the highest one in each pair of results."""
        noted, result, place = Signal(_Stage), Signal(WORD_BITS), Signal(_Place)
        m.d.sync += [noted.eq(stage), result.eq(total)]
        m.d.comb += place.eq(~leading_zeros(result))
        with m.If(noted.valid):
            with m.If(_is_level(noted.word)):
                m.d.sync += self.place.eq(place)
            for pair, kept in highest.items():
                higher = ~noted.word[0] | (place > kept)
                with m.If((noted.word[1:] == pair) & higher):
                    m.d.sync += kept.eq(place)
        return noted


def _is_time(word: Value) -> Value:
    return word[1:] == Word.STALL >> 1


def _is_sum(word: Value) -> Value:
    return word[1:] == Word.A_SUM >> 1


def _is_fast(word: Value) -> Value:
    return (word == Word.N_FAST) | (word == Word.LOSS_FAST)


def _is_input(word: Value) -> Value:
    return word >= Word.A


def _is_level(word: Value) -> Value:
    return word >= Word.N_LEVEL


#: Pairs that are normalised together.
_PAIRS = tuple(word >> 1 for word in (Word.STALL, Word.A_SUM, Word.A))

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
