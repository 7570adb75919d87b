"""The difference unit: pairs of elements, what each adds, gathered into a record."""

from amaranth.hdl import Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.dsp import Products
from adagrain.hdl.statistics.quantise import Quantise, Quantised
from adagrain.hdl.stream.delay import delayed
from adagrain.hdl.stream.packet import beat_layout, check_lanes
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units.difference import DifferenceBegin, DifferenceRecord

__all__ = ["Difference"]

#: Bits of a difference of quantised elements, with its sign.
_WIDTH = 17

#: Fewer than 2^31 pairs in a pass.
_COUNT_BITS = 31

#: What a pair adds to the sums of the record.
_Share = data.StructLayout(
    {
        "count": unsigned(1),
        "non_finite": unsigned(1),
        "saturated": unsigned(2),
        "sum_squared": unsigned(32),
        "sum_absolute": unsigned(16),
        "energy": unsigned(30),
        "sum_magnitude": unsigned(15),
    }
)

#: Field of the record → the share whose largest one it is.
_LARGEST = {"largest": "sum_absolute", "absmax": "sum_magnitude"}


class _Compare(wiring.Component):
    """Compares a pair, and gives its contribution to the sums.

    One pair per cycle, latency :attr:`LATENCY` cycles, no back-pressure. Multipliers have no
    reset; what they hold counts for nothing without its pair.

    Members
    -------
    a, b : ``In(Quantised)``
        Guess and truth.
    present : ``In(1)``
        There is a pair in this cycle.
    o : ``Out(_Share)``
        Its share; all 0 where there is none.
    """

    LATENCY = Products.LATENCY

    def __init__(self) -> None:
        quantised = {"a": In(Quantised), "b": In(Quantised)}
        super().__init__({**quantised, "present": In(1), "o": Out(_Share)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.products = products = Products(_WIDTH, 2)
        difference, finite = Signal(signed(_WIDTH)), Signal()
        m.d.comb += [
            difference.eq(self.a.q - self.b.q),
            finite.eq(self.present & self.a.finite & self.b.finite),
            products.en.eq(1),
        ]
        for lane, factor in enumerate((difference, self.b.q)):
            m.d.comb += [products.a[lane].eq(factor), products.b[lane].eq(factor)]

        # Stage 1: as the multipliers take their operands.
        share = Signal(_Share)
        finite_1 = Signal()
        difference_1, truth_1 = Signal(signed(_WIDTH)), Signal(signed(16))
        m.d.sync += [
            share.count.eq(self.present),
            share.non_finite.eq(self.present & ~finite),
            share.saturated.eq(Mux(finite, self.a.clamped + self.b.clamped, 0)),
            finite_1.eq(finite),
            difference_1.eq(difference),
            truth_1.eq(self.b.q),
        ]

        # Stage 2: as they give their products.
        share_2 = Signal(_Share)
        finite_2 = Signal()
        m.d.sync += [
            share_2.eq(share),
            finite_2.eq(finite_1),
            share_2.sum_absolute.eq(abs(difference_1)),
            share_2.sum_magnitude.eq(abs(truth_1)),
        ]
        m.d.comb += self.o.eq(share_2)
        with m.If(finite_2):
            m.d.comb += [self.o.sum_squared.eq(products.o[0]), self.o.energy.eq(products.o[1])]
        with m.Else():
            m.d.comb += [self.o.sum_absolute.eq(0), self.o.sum_magnitude.eq(0)]
        return m


class Difference(wiring.Component):
    """Exact sums of differences between two tensors, and what they are measured by, in one pass.

    Elements of the guess a and of the truth b come in turn, a's first: a0, b0, a1, b1, … Each
    becomes ``q = clamp(RNE(x·2^(14−E)), ±32767)``, in units of 2^(E−14), as in
    :class:`~adagrain.hdl.statistics.Statistics`. A pair with an element that is not finite is in
    ``count``, ``non_finite`` and ``bitwise_equal`` alone.

    Takes a beat per cycle from the pass's start to its last beat: ``i`` is never stalled. The
    record is offered :attr:`LATENCY` cycles after the last beat and stands until it is taken; then
    the next pass begins.

    Roots and quotients are the host's; formats narrower than FP32 are widened by
    :class:`~adagrain.hdl.tensor_input.Unpacker`. It does not count what comes: the number of
    elements must be even (an element of a without one of b is left out) and less than 2^32.

    Source: our own; as ``docs/difference.md`` says.

    Parameters
    ----------
    lanes : int
        Elements per cycle: 1, 2 or 4.

    Members
    -------
    i_begin : ``In(stream.Signature(DifferenceBegin))``
        Starts a pass; only ``exponent`` (1 to 254) is used.
    i : ``In(stream.Signature(beat_layout(lanes)))``
        FP32 elements. A last beat may keep no lane at all.
    o : ``Out(stream.Signature(DifferenceRecord))``
        One record per pass.
    refusal : ``Out(Status)``
        Of what is on ``i_begin``, offered or not: ``BAD_VALUE`` for an exponent out of its range,
        or an odd number of elements.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    LATENCY = Quantise.LATENCY + _Compare.LATENCY + 2  # sums of a beat, sums of the pass

    def __init__(self, lanes: int) -> None:
        check_lanes(lanes)
        self.lanes = lanes
        super().__init__(
            {
                "i_begin": In(stream.Signature(DifferenceBegin)),
                "i": In(stream.Signature(beat_layout(lanes))),
                "o": Out(stream.Signature(DifferenceRecord)),
                "refusal": Out(Status),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        begin = self.i_begin.payload
        with m.If((begin.exponent == 0) | (begin.exponent == 255) | begin.count[0]):
            m.d.comb += self.refusal.eq(Status.BAD_VALUE)
        exponent = Signal(8)
        present = Signal(self.lanes)
        waited = Signal(range(self.LATENCY))
        start = self.i_begin.valid & self.i_begin.ready

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.i_begin.ready.eq(1)
                m.d.sync += exponent.eq(self.i_begin.payload.exponent)
                with m.If(self.i_begin.valid):
                    m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += waited.eq(0)
                with m.If(self.i.valid):
                    m.d.comb += present.eq(self.i.payload.keep)
                    with m.If(self.i.payload.last):
                        m.next = "DRAIN"
            with m.State("DRAIN"):
                m.d.sync += waited.eq(waited + 1)
                with m.If(waited == self.LATENCY - 2):
                    m.next = "RECORD"
            with m.State("RECORD"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "IDLE"

        elements = []
        for lane in range(self.lanes):
            m.submodules[f"quantise_{lane}"] = quantise = Quantise()
            m.d.comb += [
                quantise.word.eq(self.i.payload.data[lane]),
                quantise.present.eq(present[lane]),
                quantise.exponent.eq(exponent),
            ]
            elements.append(quantise.o)
        pairs = self._join(m, start, present, elements)
        self._gather(m, start, pairs)
        m.d.comb += self.o.payload.exponent.eq(exponent)
        return m

    def _join(
        self, m: Module, start: Value, present: Signal, elements: list[data.View]
    ) -> list[_Compare]:
        """Bring the elements of pairs together, first their words, then quantised."""
        words = self.i.payload.data
        if self.lanes == 1:
            second = Signal()  # the next element is of b
            word, kept = Signal(32, reset_less=True), Signal(Quantised, reset_less=True)
            second_later = delayed(m, second, Quantise.LATENCY)
            with m.If(start):
                m.d.sync += second.eq(0)
            with m.Elif(present):
                m.d.sync += [second.eq(~second), word.eq(words[0])]
            with m.If(elements[0].present):
                m.d.sync += kept.eq(elements[0])
            differs = [present & second & (word != words[0])]
            joined = [(kept, elements[0], elements[0].present & second_later)]
        else:
            lanes = range(0, self.lanes, 2)
            differs = [present[n + 1] & (words[n] != words[n + 1]) for n in lanes]
            joined = [(elements[n], elements[n + 1], elements[n + 1].present) for n in lanes]

        pairs = []
        unequal = Signal(len(differs))
        for number, (a, b, complete) in enumerate(joined):
            m.submodules[f"pair_{number}"] = pair = _Compare()
            m.d.comb += [pair.a.eq(a), pair.b.eq(b), pair.present.eq(complete)]
            m.d.sync += unequal[number].eq(differs[number])
            pairs.append(pair)
        equal = Signal()
        with m.If(start):
            m.d.sync += equal.eq(1)
        with m.Elif(unequal.any()):
            m.d.sync += equal.eq(0)
        m.d.comb += self.o.payload.bitwise_equal.eq(equal)
        return pairs

    def _gather(self, m: Module, start: Value, pairs: list[_Compare]) -> None:
        """Sums and largest ones, over the pairs of a beat and then over all beats."""
        for name, field in _Share:
            bits = min(field.width + _COUNT_BITS, len(self.o.payload[name]))
            total = Signal(bits, name=f"total_{name}")
            beat = Signal(field.width + 1, name=f"beat_{name}")
            m.d.sync += [beat.eq(sum(pair.o[name] for pair in pairs)), total.eq(total + beat)]
            with m.If(start):
                m.d.sync += total.eq(0)
            m.d.comb += self.o.payload[name].eq(total)
        for name, source in _LARGEST.items():
            first, last = pairs[0].o[source], pairs[-1].o[source]
            total = Signal(len(first), name=f"total_{name}")
            beat = Signal(len(first), name=f"beat_{name}")
            m.d.sync += beat.eq(Mux(first > last, first, last))
            with m.If(start):
                m.d.sync += total.eq(0)
            with m.Elif(beat > total):
                m.d.sync += total.eq(beat)
            m.d.comb += self.o.payload[name].eq(total)
