"""Places of words, and their way into the pipeline."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.interface.units.region_manager import (
    RegionParameters,
    RegionStep,
    RegionUpdate,
)

from .layouts import WORD_BITS, WORD_NUMBER, Word

__all__ = ["Fetch"]


class Fetch(wiring.Component):
    """Brings words from where they are: the table, the run's averages, or what comes in.

    One word per cycle, latency 2: a block RAM is too slow to shift at once.

    Members
    -------
    i_read : ``In(stream.Signature(4, always_ready=True))``
        Word that is asked for.
    stored : ``In(64)``
        What is in the table, if it is in the table, one cycle later.
    parameters : ``In(RegionParameters)``
        With the run's averages.
    update : ``In(RegionUpdate)``, step : ``In(RegionStep)``
        What comes in.
    word : ``Out(64)``
        The word.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "i_read": In(stream.Signature(WORD_NUMBER, always_ready=True)),
                "stored": In(WORD_BITS),
                "parameters": In(RegionParameters),
                "update": In(RegionUpdate),
                "step": In(RegionStep),
                "word": Out(WORD_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        coming = Signal(WORD_NUMBER)
        m.d.sync += [coming.eq(self.i_read.payload), self.word.eq(self.stored)]
        with m.Switch(coming):
            with m.Case(Word.LOSS_FAST):
                m.d.sync += self.word.eq(self.parameters.loss_fast)
            with m.Case(Word.LOSS_SLOW):
                m.d.sync += self.word.eq(self.parameters.loss_slow)
            with m.Case(Word.A):
                m.d.sync += self.word.eq(self.update.a)
            with m.Case(Word.N, Word.N_LEVEL, Word.N_LEVEL + 1):
                m.d.sync += self.word.eq(self.update.n)
            with m.Case(Word.LOSS_LEVEL, Word.LOSS_LEVEL + 1):
                m.d.sync += self.word.eq(self.step.loss)
        return m
