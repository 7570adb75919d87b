"""Products of a pair and what they say: one multiplier for all the rules."""

import enum

from amaranth.hdl import Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.interface.units.region_manager import RegionParameters

__all__ = ["Judge", "Question", "Verdict"]


class Question(enum.IntEnum):
    """What is asked about a pair."""

    AGREEMENT = 0
    GAIN = 1
    VARIANCE = 2
    NOISE = 3


#: What the answers say; each keeps until its question is asked again.
Verdict = data.StructLayout(
    {
        "gains": unsigned(1),  # c·σ > (7−c)·κ
        "wide": unsigned(1),  # the variance is above the threshold
        "narrow": unsigned(1),  # it is below
        "above": unsigned(1),  # the variance is above the medium threshold
        "below": unsigned(1),  # it is below
        "measured": unsigned(1),  # the sums are not 0
        "noisy": unsigned(1),  # noise-to-signal is above T
        "quiet": unsigned(1),  # it is at most T/4
    }
)


class Judge(wiring.Component):
    """Answers questions about a pair by cross-multiplication, one 32×16 product per cycle.

    With W workers and a pair (x, y):

    - ``AGREEMENT``, (A, N): ``agreement = min(2**32 − 1, N·W)``, the numerator of α.
    - ``GAIN``, (σ, κ): whether ``c·σ > (7 − c)·κ``.
    - ``VARIANCE``: how ``(W − α·W)·256`` compares with each threshold times ``α·W − α``, α in
      Q0.16. Before energies have entered α, the former is 0.
    - ``NOISE``, (A, N) below 2**22: how ``W·(A − N·W)·256`` compares with T times
      ``N·W² − A``, and with a quarter of it. Without noise it is quiet, else without signal noisy.

    An answer takes 2 to 6 cycles; ``x`` and ``y`` must not change meanwhile.

    Members
    -------
    start : ``In(1)``
        Take the question; ignored while one is being answered.
    question : ``In(Question)``
        Must keep until ``done``.
    x, y : ``In(32)``
        The pair.
    confidence : ``In(3)``
        c.
    measured : ``In(1)``
        Energies have entered α.
    alpha : ``In(16)``
        α, Q0.16.
    parameters : ``In(RegionParameters)``
        World size and thresholds.
    done : ``Out(1)``
        High for one cycle: the answer stands from the next one on.
    agreement : ``Out(32)``
        Numerator of α.
    verdict : ``Out(Verdict)``
        The other answers.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "start": In(1),
                "question": In(Question),
                "x": In(32),
                "y": In(32),
                "confidence": In(3),
                "measured": In(1),
                "alpha": In(16),
                "parameters": In(RegionParameters),
                "done": Out(1),
                "agreement": Out(32),
                "verdict": Out(Verdict),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        x, y, verdict, workers = self.x, self.y, self.verdict, self.parameters.workers
        a, b, product = Signal(32), Signal(16), Signal(48)
        m.d.sync += product.eq(a * b)

        held = Signal(36)  # what a later product is compared with
        scaled = Signal(46)
        above, below = Signal(), Signal()
        m.d.comb += [scaled.eq(held), above.eq(scaled > product), below.eq(scaled < product)]

        shortfall, surplus = Signal(signed(49)), Signal(signed(49))
        whole, less, excess = Signal(32), Signal(32), Signal(32)
        m.d.comb += [
            whole.eq(x),
            less.eq(x),
            shortfall.eq(whole - product),
            surplus.eq(product - less),
        ]

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [a.eq(y), b.eq(workers)]
                with m.Switch(self.question):
                    with m.Case(Question.GAIN):
                        m.d.comb += [a.eq(x), b.eq(self.confidence)]
                    with m.Case(Question.VARIANCE):
                        m.d.comb += a.eq(self.alpha)
                with m.If(self.start), m.Switch(self.question):
                    for question in Question:
                        with m.Case(question):
                            m.next = question.name

            with m.State("AGREEMENT"):
                m.d.sync += self.agreement.eq(_clamped(product))
                self._finish(m)

            with m.State("GAIN"):
                m.d.comb += [a.eq(y), b.eq(7 - self.confidence)]
                m.d.sync += held.eq(product)
                m.next = "GAIN_COMPARE"
            with m.State("GAIN_COMPARE"):
                m.d.sync += verdict.gains.eq(above)
                self._finish(m)

            with m.State("VARIANCE"):
                m.d.comb += [
                    whole.eq(Mux(self.measured, workers << 16, 0)),
                    less.eq(self.alpha),
                ]
                m.d.sync += [held.eq(_clamped(shortfall)), excess.eq(_clamped(surplus))]
                m.next = "VARIANCE_THRESHOLD"
            with m.State("VARIANCE_THRESHOLD"):
                m.d.comb += [a.eq(excess), b.eq(self.parameters.variance)]
                m.next = "VARIANCE_COMPARE"
            with m.State("VARIANCE_COMPARE"):
                m.d.comb += [a.eq(excess), b.eq(self.parameters.medium_variance)]
                m.d.comb += scaled.eq(held << 8)
                m.d.sync += [verdict.wide.eq(above), verdict.narrow.eq(below)]
                m.next = "VARIANCE_COMPARE_MEDIUM"
            with m.State("VARIANCE_COMPARE_MEDIUM"):
                m.d.comb += scaled.eq(held << 8)
                m.d.sync += [verdict.above.eq(above), verdict.below.eq(below)]
                self._finish(m)

            with m.State("NOISE"):
                m.d.comb += [a.eq(product), b.eq(workers)]
                m.d.sync += [
                    held.eq(shortfall),
                    verdict.measured.eq(x != 0),
                    verdict.noisy.eq(0),
                    verdict.quiet.eq(1),
                ]
                m.next = "NOISE_SIGNAL"
                with m.If(shortfall < 0):
                    self._finish(m)
            with m.State("NOISE_SIGNAL"):
                m.d.comb += [a.eq(held), b.eq(workers)]
                m.d.sync += excess.eq(_clamped(surplus))
                m.next = "NOISE_THRESHOLD"
            with m.State("NOISE_THRESHOLD"):
                m.d.comb += [a.eq(excess), b.eq(self.parameters.noise)]
                m.d.sync += held.eq(product)
                m.next = "NOISE_COMPARE"
            with m.State("NOISE_COMPARE"):
                m.d.comb += [a.eq(excess), b.eq(self.parameters.noise), scaled.eq(held << 8)]
                m.d.sync += verdict.noisy.eq(above)
                m.next = "NOISE_COMPARE_QUARTER"
            with m.State("NOISE_COMPARE_QUARTER"):
                m.d.comb += scaled.eq(held << 10)
                m.d.sync += verdict.quiet.eq(~above)
                self._finish(m)
        return m

    def _finish(self, m: Module) -> None:
        m.d.comb += self.done.eq(1)
        m.next = "IDLE"


def _clamped(value: Value) -> Value:
    """The value, from 0 to 2**32 − 1."""
    large = Mux(value[32:].any(), 2**32 - 1, value[:32])
    return Mux(value < 0, 0, large) if value.shape().signed else large
