"""The pipeline through which the wide words of a record go."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..float.round import leading_zeros
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

#: Extra fraction bits that a slow average has over its fast neighbour.
_FAST = 3


class Words(wiring.Component):
    """Reads words, one per cycle, shifts them, and averages or normalises them.

    An averaging sweep brings each word to the update's exponent, replaces it by
    ``w − (w >> k) + x`` (a sum by ``w + x``), and offers the result for writing four cycles
    after it was asked for. It also notes the highest one of each pair. A sweep without averages
    shifts a pair right together, until it is below 2**32 (the sums: 2**22), into ``x`` and ``y``;
    the fast average of a pair is first brought to the fraction bits of the slow one.

    A sweep is taken while the previous one is still in the pipeline, one cycle after its last
    word was asked for. A pair may be normalised from five cycles after it was averaged.
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
        What the averages take in. This and the next four ports must be stable while averaging.
    rescale : ``In(signed(4))``
        Octaves by which the exponent rises, −7…7: sums shrink by twice as many bits.
    halve : ``In(1)``
        ``A_SUM`` and ``N_SUM`` are halved before they grow.
    fresh, fresh_sums : ``In(1)``
        Averages and sums, or the sums alone, start from the values; ``STALL`` and ``REDO`` do not.
    hold : ``In(1)``
        Averages and sums stay as they are; ``STALL`` and ``REDO`` do not.
    write : ``Out``, ``write_valid`` : ``Out(1)``
        Averaged word and its new value.
    x, y : ``Out(32)``
        The pair that was normalised last, even word and odd word.
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
                "write": Out(_Write),
                "write_valid": Out(1),
                "x": Out(32),
                "y": Out(32),
                "loaded": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        highest = Array(Signal(7, name=f"highest_{pair}") for pair in range(6))
        asked = self._ask(m)
        coming = Signal(_Stage)
        m.d.sync += coming.eq(asked)
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

    def _shift(self, m: Module, coming: data.View, highest: Array) -> tuple[data.View, Value]:
        """Bring a word to the update's exponent, or a pair below 2**32."""
        is_sum = _is_sum(coming.word)
        is_loss = coming.word[1:] == Word.LOSS_FAST >> 1
        place, top = highest[coming.word[1:]], Mux(is_sum, _TOP_OF_SUMS, _TOP)
        right = Signal(range(WORD_BITS))
        m.d.sync += right.eq(_HEADROOM)
        with m.If(~coming.average):
            excess = Mux(place > top, place - top, 0)
            m.d.sync += right.eq(_HEADROOM + excess - Mux(_is_fast(coming.word), _FAST, 0))
        with m.Elif(~(_is_time(coming.word) | is_loss | self.hold)):
            m.d.sync += right.eq(_HEADROOM + 2 * self.rescale + (self.halve & is_sum))

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
        value, decay = Signal(56), Signal(range(7))
        with m.Switch(stage.word):
            for word, (source, shift) in _AVERAGES.items():
                with m.Case(word):
                    m.d.comb += [value.eq(self.values[source]), decay.eq(shift)]

        lost, start = Signal(WORD_BITS), Signal(WORD_BITS)
        with m.Switch(decay):
            for shift in (3, 4, 6):
                with m.Case(shift):
                    m.d.comb += [lost.eq(shifted >> shift), start.eq(value << shift)]
            with m.Default():
                m.d.comb += start.eq(value)

        sums, decayed, added = Signal(_Stage), Signal(WORD_BITS), Signal(WORD_BITS)
        m.d.sync += [sums.eq(stage), decayed.eq(shifted - lost), added.eq(value)]
        with m.If(~_is_time(stage.word)):
            with m.If(self.hold):
                m.d.sync += [decayed.eq(shifted), added.eq(0)]
            with m.Elif(self.fresh | (self.fresh_sums & _is_sum(stage.word))):
                m.d.sync += [decayed.eq(0), added.eq(start)]
        m.d.comb += [
            self.write.word.eq(sums.word),
            self.write.data.eq(decayed + added),
            self.write_valid.eq(sums.valid & sums.average),
        ]
        return sums, self.write.data

    def _note(self, m: Module, stage: data.View, total: Value, highest: Array) -> data.View:
        """Keep the place of the highest one in each pair of results."""
        noted, result, place = Signal(_Stage), Signal(WORD_BITS), Signal(7)
        highest_one = ~leading_zeros(result)
        m.d.sync += [noted.eq(stage), result.eq(total)]
        m.d.comb += place.eq(highest_one + Mux(_is_fast(noted.word), _FAST, 0))
        pair = highest[noted.word[1:]]
        with m.If(noted.valid & noted.average & (~noted.word[0] | (place > pair))):
            m.d.sync += pair.eq(place)
        return noted


def _is_time(word: Value) -> Value:
    return word[1:] == Word.STALL >> 1


def _is_sum(word: Value) -> Value:
    return word[1:] == Word.A_SUM >> 1


def _is_fast(word: Value) -> Value:
    return (word == Word.N_FAST) | (word == Word.LOSS_FAST)


#: Which value each word takes in, and the shift of its decay; sums do not decay.
_AVERAGES: dict[Word, tuple[str, int]] = {
    Word.STALL: ("stall", 4),
    Word.REDO: ("redo", 4),
    Word.A_EMA: ("a", 4),
    Word.N_EMA: ("n", 4),
    Word.N_FAST: ("n", 3),
    Word.N_SLOW: ("n", 6),
    Word.A_SUM: ("a", 0),
    Word.N_SUM: ("n", 0),
    Word.LOSS_FAST: ("loss", 3),
    Word.LOSS_SLOW: ("loss", 6),
}
