"""The pipeline through which the wide words of a record go."""

from amaranth.hdl import Module, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.models.interface.units.region_manager import RegionUpdate

from .average import Average
from .layouts import WORD_BITS, WORD_NUMBER, Intake, Stage, SumsIntake, WordStream
from .shift import Shift
from .sweeps import Sweep

__all__ = ["Words"]


class Words(wiring.Component):
    """Reads words, one per cycle, shifts them, and averages or normalises them.

    An averaging sweep replaces each word by ``w − (w >> k) + x``, a sum, which is first brought to
    the update's exponent, by ``w + x``, and offers the result for writing four cycles after it was
    asked for. It also notes the highest one of each pair. What comes in (from ``A`` on) is only
    noted, and stays what it is.

    A sweep without averages shifts words right into ``x`` and ``y``: a pair together, until it is
    below 2**32 (the sums: 2**22); a number whose logarithm is taken, either way, to a 1 and the
    logarithm's fraction. Averages of logarithms stay as they are, but the fast one is brought to
    the fraction bits of the slow one. The logarithm that was taken last is what the averages of
    logarithms take in.

    A sweep is taken while the previous one is still in the pipeline, one cycle after its last
    word was asked for. A pair may be normalised from five cycles after it was averaged or noted.
    Words 0 and 1 can be swept for the sake of the reads alone.

    Members
    -------
    i : ``In(stream.Signature(Sweep))``
        Words to go through, in ascending order.
    busy : ``Out(1)``
        Words are still to be asked for, to arrive or to be averaged.
    o_read : ``Out(stream.Signature(4, always_ready=True))``
        Word asked for.
    word : ``In(64)``
        The word that was asked for two cycles before.
    o_arrived : ``Out(WordStream)``
        The same, and which one it is.
    update : ``In(RegionUpdate)``
        What the averages take in. This and the next three ports must be stable while averaging.
    levels, losses : ``In(Intake)``
        How the averages of logarithms do: those of a region's N, those of the loss.
    sums : ``In(SumsIntake)``
        How the sums do.
    o_averaged : ``Out(WordStream)``
        Averaged word and its new value.
    x, y : ``Out(32)``
        The pair that was shifted last, even word and odd word.
    loaded : ``Out(1)``
        High for the first cycle in which ``x`` and ``y`` hold a new pair.
    fall : ``Out(signed(16))``
        By how many octaves the fast average of the pair is below the slow one, Q5.10, saturated;
        where they are averages of logarithms.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(Sweep)),
                "busy": Out(1),
                "o_read": Out(stream.Signature(WORD_NUMBER, always_ready=True)),
                "word": In(WORD_BITS),
                "o_arrived": Out(WordStream),
                "update": In(RegionUpdate),
                "levels": In(Intake),
                "losses": In(Intake),
                "sums": In(SumsIntake),
                "o_averaged": Out(WordStream),
                "x": Out(32),
                "y": Out(32),
                "loaded": Out(1),
                "fall": Out(signed(16)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.shift = shift = Shift()
        m.submodules.average = average = Average()
        asked, coming, arrived = self._ask(m), Signal(Stage), Signal(Stage)
        m.d.sync += [coming.eq(asked), arrived.eq(coming)]
        m.d.comb += [
            self.o_arrived.valid.eq(arrived.valid),
            self.o_arrived.p.word.eq(arrived.word),
            self.o_arrived.p.data.eq(self.word),
            shift.coming.eq(coming),
            shift.arrived.eq(arrived),
            shift.word.eq(self.word),
            shift.places.eq(average.places),
            shift.sums.eq(self.sums),
            shift.exponent.eq(self.update.exponent),
            average.shifted.eq(shift.shifted),
            average.stage.eq(shift.stage),
            average.level.eq(shift.level),
            average.update.eq(self.update),
            average.levels.eq(self.levels),
            average.losses.eq(self.losses),
            average.sums.eq(self.sums),
            self.x.eq(shift.x),
            self.y.eq(shift.y),
            self.loaded.eq(shift.loaded),
            self.fall.eq(shift.fall),
            self.busy.eq(asked.valid | coming.valid | arrived.valid | average.busy),
        ]
        connect(m, average.o, flipped(self.o_averaged))
        return m

    def _ask(self, m: Module) -> data.View:
        """Ask for one word per cycle."""
        sweep, busy, asked = Signal(Sweep), Signal(), Signal(Stage)
        m.d.comb += [
            asked.word.eq(sweep.first),
            asked.valid.eq(busy),
            asked.average.eq(sweep.average),
            self.o_read.payload.eq(sweep.first),
            self.o_read.valid.eq(busy),
            self.i.ready.eq(~busy | (sweep.first == sweep.last)),
        ]
        with m.If(busy):
            m.d.sync += sweep.first.eq(sweep.first + 1)
        with m.If(self.i.ready):
            m.d.sync += busy.eq(self.i.valid)
            with m.If(self.i.valid):
                m.d.sync += sweep.eq(self.i.payload)
        return asked
