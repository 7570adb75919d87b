"""Products of a pair and what they say: one multiplier for all the rules."""

import enum

from amaranth.hdl import Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.interface.units.region_manager import RegionParameters, SpeculationState
from adagrain.models.region_manager.averages import ALPHA_BITS

from .layouts import Head

__all__ = ["Comparator", "ComparatorSignature", "Comparisons", "Question"]

#: Bits of an FPGA's multiplier. Partial products are registered where they come from: an adder in
#: front of the register would be on the way there from a multiplier that may lie far away.
_PART = 18


class Question(enum.IntEnum):
    """Comparison of a pair that is asked for."""

    AGREEMENT = 0
    GAIN = 1
    VARIANCE = 2
    NOISE = 3


#: What the answers say; each keeps until its question is asked again.
Comparisons = data.StructLayout(
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


class ComparatorSignature(wiring.Signature):
    """The comparator, as whoever asks sees it.

    Members
    -------
    question : ``Out(stream.Signature(Question))``
        Questions. One is taken in the last cycle before its answer stands.
    agreement : ``In(32)``
        Numerator of α.
    comparisons : ``In(Comparisons)``
        The other answers.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "question": Out(stream.Signature(Question)),
                "agreement": In(32),
                "comparisons": In(Comparisons),
            }
        )


class Comparator(wiring.Component):
    """Answers questions about a pair by cross-multiplication, one 32×16 product per cycle.

    With W workers and a pair (x, y):

    - ``AGREEMENT``, (A, N): ``agreement = min(2**32 − 1, N·W)``, the numerator of α.
    - ``GAIN``, (σ, κ): whether ``c·σ > (7 − c)·κ``, c the region's confidence where it speculates,
      else 4.
    - ``VARIANCE``: how ``(W − α·W)·256`` compares with each threshold times ``α·W − α``, α in
      Q0.16. Before energies have entered α, the former is 0.
    - ``NOISE``, (A, N) below 2**22: how ``W·(A − N·W)·256`` compares with T times
      ``N·W² − A``, and with a quarter of it. Without noise it is quiet, else without signal noisy.

    An answer takes 2 to 6 cycles; all other inputs must not change meanwhile.

    Members
    -------
    asker : ``In(ComparatorSignature())``
        Questions and answers.
    x, y : ``In(32)``
        The pair.
    record : ``In(Head)``
        The region's state, confidence and α.
    parameters : ``In(RegionParameters)``
        World size and thresholds.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "asker": In(ComparatorSignature()),
                "x": In(32),
                "y": In(32),
                "record": In(Head),
                "parameters": In(RegionParameters),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        x, y, comparisons, workers = self.x, self.y, self.asker.comparisons, self.parameters.workers
        question = self.asker.question
        alpha, confidence = self.record.alpha[ALPHA_BITS:], Signal(3)
        a, b, product = Signal(32), Signal(16), Signal(48)
        low, high = Signal(_PART + 16), Signal(32 - _PART + 16)
        m.d.sync += [low.eq(a[:_PART] * b), high.eq(a[_PART:] * b)]
        m.d.comb += [product.eq(low + (high << _PART)), confidence.eq(4)]
        with m.Switch(self.record.state), m.Case(SpeculationState.HYBRID, SpeculationState.FULL):
            m.d.comb += confidence.eq(self.record.confidence)

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
                with m.Switch(question.payload):
                    with m.Case(Question.GAIN):
                        m.d.comb += [a.eq(x), b.eq(confidence)]
                    with m.Case(Question.VARIANCE):
                        m.d.comb += a.eq(alpha)
                with m.If(question.valid), m.Switch(question.payload):
                    for asked in Question:
                        with m.Case(asked):
                            m.next = asked.name

            with m.State("AGREEMENT"):
                m.d.sync += self.asker.agreement.eq(_clamped(product))
                self._finish(m)

            with m.State("GAIN"):
                m.d.comb += [a.eq(y), b.eq(7 - confidence)]
                m.d.sync += held.eq(product)
                m.next = "GAIN_COMPARE"
            with m.State("GAIN_COMPARE"):
                m.d.sync += comparisons.gains.eq(above)
                self._finish(m)

            with m.State("VARIANCE"):
                m.d.comb += [
                    whole.eq(Mux(self.record.measured.any(), workers << 16, 0)),
                    less.eq(alpha),
                ]
                m.d.sync += [held.eq(_clamped(shortfall)), excess.eq(_clamped(surplus))]
                m.next = "VARIANCE_THRESHOLD"
            with m.State("VARIANCE_THRESHOLD"):
                m.d.comb += [a.eq(excess), b.eq(self.parameters.variance)]
                m.next = "VARIANCE_COMPARE"
            with m.State("VARIANCE_COMPARE"):
                m.d.comb += [a.eq(excess), b.eq(self.parameters.medium_variance)]
                m.d.comb += scaled.eq(held << 8)
                m.d.sync += [comparisons.wide.eq(above), comparisons.narrow.eq(below)]
                m.next = "VARIANCE_COMPARE_MEDIUM"
            with m.State("VARIANCE_COMPARE_MEDIUM"):
                m.d.comb += scaled.eq(held << 8)
                m.d.sync += [comparisons.above.eq(above), comparisons.below.eq(below)]
                self._finish(m)

            with m.State("NOISE"):
                m.d.comb += [a.eq(product), b.eq(workers)]
                m.d.sync += [
                    held.eq(shortfall),
                    comparisons.measured.eq(x != 0),
                    comparisons.noisy.eq(0),
                    comparisons.quiet.eq(1),
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
                m.d.sync += comparisons.noisy.eq(above)
                m.next = "NOISE_COMPARE_QUARTER"
            with m.State("NOISE_COMPARE_QUARTER"):
                m.d.comb += scaled.eq(held << 10)
                m.d.sync += comparisons.quiet.eq(~above)
                self._finish(m)
        return m

    def _finish(self, m: Module) -> None:
        m.d.comb += self.asker.question.ready.eq(1)
        m.next = "IDLE"


def _clamped(value: Value) -> Value:
    """The value, from 0 to 2**32 − 1."""
    large = Mux(value[32:].any(), 2**32 - 1, value[:32])
    return Mux(value < 0, 0, large) if value.shape().signed else large
