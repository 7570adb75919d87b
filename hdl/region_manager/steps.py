"""Steps of a run: its parameters, the averages of its loss, and the loss guard."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.interface.units.region_manager import RegionParameters, RegionStep

from .layouts import Intake, RunSignature, Word, WordStream
from .sweeps import WordsSignature, load, sweep, wait

__all__ = ["Steps"]


class Steps(wiring.Component):
    """Brings the run's averages up to date; finds the loss rate, and whether to raise alarm.

    A step takes 30 cycles. Until the first one after a reset, loss rate and alarm are 0.

    Members
    -------
    i_parameters : ``In(stream.Signature(RegionParameters))``
        Replaces all parameters; must not come while it is busy.
    i : ``In(stream.Signature(RegionStep))``
        Steps; one is taken when all is up to date.
    busy : ``Out(1)``
        A step is at work.
    words : ``Out(WordsSignature())``
        The pipeline that averages the loss.
    i_averaged : ``In(WordStream)``
        What has become of the averages; other words pass by.
    intake : ``Out(Intake)``
        How the averages take in the loss.
    run : ``Out(RunSignature())``
        Parameters, loss rate, and the state of the loss guard.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "i_parameters": In(stream.Signature(RegionParameters)),
                "i": In(stream.Signature(RegionStep)),
                "busy": Out(1),
                "words": Out(WordsSignature()),
                "i_averaged": In(WordStream),
                "intake": Out(Intake),
                "run": Out(RunSignature()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        run, words, averaged = self.run.parameters, self.words, self.i_averaged
        m.d.comb += [
            self.i_parameters.ready.eq(1),
            self.intake.fresh.eq(~run.loss_valid),
            self.intake.hold.eq(~self.i.p.loss_valid),
        ]
        with m.If(self.i_parameters.valid):
            m.d.sync += run.eq(self.i_parameters.payload)
        for word, average in ((Word.LOSS_FAST, run.loss_fast), (Word.LOSS_SLOW, run.loss_slow)):
            with m.If(averaged.valid & (averaged.p.word == word)):
                m.d.sync += average.eq(averaged.p.data)

        with m.FSM() as fsm:
            wait(m, "IDLE", self.i.valid, then="LOSS")
            sweep(
                m, words, "LOSS", Word.LOSS_LEVEL, Word.LOSS_LEVEL, average=True, then="LOSS_NOTED"
            )
            wait(m, "LOSS_NOTED", ~words.busy, then="LEVEL")
            load(m, words, "LEVEL", Word.LOSS_LEVEL, then="LOGARITHM")
            wait(m, "LOGARITHM", words.loaded, then="AVERAGE")
            sweep(
                m, words, "AVERAGE", Word.LOSS_FAST, Word.LOSS_SLOW, average=True, then="AVERAGED"
            )
            wait(m, "AVERAGED", ~words.busy, then="PAIR")
            load(m, words, "PAIR", Word.LOSS_FAST, then="RATE")
            with m.State("RATE"), m.If(words.loaded):
                self._conclude(m)
                m.next = "IDLE"
        m.d.comb += self.busy.eq(~fsm.ongoing("IDLE"))
        return m

    def _conclude(self, m: Module) -> None:
        step, run, fall = self.i.payload, self.run.parameters, self.words.fall
        m.d.comb += self.i.ready.eq(1)
        m.d.sync += [self.run.loss_rate.eq(0), self.run.alarm.eq(0)]
        with m.If(step.loss_valid | run.loss_valid):
            m.d.sync += [
                run.loss_valid.eq(1),
                self.run.loss_rate.eq(fall),
                self.run.alarm.eq((run.guard != 0) & (fall + run.guard < 0)),
            ]
        with m.If(step.epoch_end & (run.epoch != 65535)):
            m.d.sync += run.epoch.eq(run.epoch + 1)
