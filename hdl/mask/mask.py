"""The mask: a look-up in a keep-table for each element."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.half_binade import half_binade
from adagrain.hdl.codec.layouts import elements_layout
from adagrain.hdl.stream.packet import check_lanes
from adagrain.hdl.stream.pipeline import elastic
from adagrain.models.interface.units.statistics import BINS

__all__ = ["Mask", "MaskParameters"]

#: How a region is masked.
MaskParameters = data.StructLayout(
    {
        "exponent": unsigned(8),  # base: bins are counted down from its binade
        "bf16": unsigned(1),  # elements are BF16, otherwise FP16
        "keep": unsigned(BINS),  # for each bin: its elements are kept
    }
)


class Mask(wiring.Component):
    """Puts +0 in the place of elements whose bin is not kept.

    What :func:`adagrain.models.mask.masked` gives.

    A beat per cycle, latency :attr:`LATENCY` cycles. Regions may follow each other without a
    pause.

    It keeps nothing of what it drops: the residual is the host's.

    Source: our own; as ``docs/codec.md`` says.

    Parameters
    ----------
    lanes : int
        Elements in a beat: 1, 2 or 4.

    Members
    -------
    i_region : ``In(stream.Signature(MaskParameters))``
        How a region is masked, for each, in order; taken with its last beat.
    i : ``In(stream.Signature(elements_layout(lanes)))``
        Regions' elements; they wait for their region's parameters.
    o : ``Out(stream.Signature(elements_layout(lanes)))``
        The same beats; lanes without an element hold +0.

    Raises
    ------
    TypeError, ValueError
        If ``lanes`` is not what it must be.
    """

    LATENCY = 2

    def __init__(self, lanes: int) -> None:
        check_lanes(lanes)
        self._lanes = lanes
        super().__init__(
            {
                "i_region": In(stream.Signature(MaskParameters)),
                "i": In(stream.Signature(elements_layout(lanes))),
                "o": Out(stream.Signature(elements_layout(lanes))),
            }
        )

    @property
    def lanes(self) -> int:
        """Elements in a beat."""
        return self._lanes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        known = stream.Signature(elements_layout(self._lanes)).create(path=("known",))
        m.d.comb += [
            known.payload.eq(self.i.payload),
            known.valid.eq(self.i.valid & self.i_region.valid),
            self.i.ready.eq(known.ready & self.i_region.valid),
            self.i_region.ready.eq(self.i.valid & known.ready & self.i.p.last),
        ]
        beat, keep = Signal.like(self.i.p), Signal(BINS)
        bins = [Signal(range(BINS), name=f"bin_{lane}") for lane in range(self._lanes)]
        beyond = Signal(self._lanes)
        with m.If(elastic(m, known, self.o, 2)):
            m.d.sync += [
                beat.eq(self.i.p),
                keep.eq(self.i_region.p.keep),
                self.o.p.keep.eq(beat.keep),
                self.o.p.last.eq(beat.last),
            ]
            for lane, number in enumerate(bins):
                found = self._bin(m, self.i.p.data[lane])
                kept = beyond[lane] | keep.bit_select(number, 1)
                m.d.sync += [
                    beyond[lane].eq(found < 0),
                    number.eq(Mux(found < BINS, found, BINS - 1)),
                    self.o.p.data[lane].eq(Mux(kept & beat.keep[lane], beat.data[lane], 0)),
                ]
        return m

    def _bin(self, m: Module, word: Value) -> Signal:
        """Half binades of an element below the upper one of the base's binade."""
        region, found = self.i_region.p, Signal(signed(10))
        upper = Cat(Const(1, 1), region.exponent)
        m.d.comb += found.eq(upper - half_binade(word, region.bf16))
        return found
