"""Packs the numbers of rows in words."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.interface.precision import WORD_BITS, Precision, check_precisions

from .layouts import number_layout, packed_layout

__all__ = ["Packer"]

#: Bits of the narrowest number.
_STEP = min(precision.bits for precision in Precision)


class Packer(wiring.Component):
    """Puts the numbers of a row into words, as :func:`adagrain.models.rescale.packed_rows` does.

    A number per cycle; a word is offered in the cycle after its last number. The rest of a row's
    last word is zero. All numbers of a row are of the same precision: what comes of others is not
    defined.

    Parameters
    ----------
    precisions : tuple of Precision
        Of the numbers: all four, or integers.

    Members
    -------
    i : ``In(stream.Signature(number_layout()))``
        Numbers.
    o : ``Out(stream.Signature(packed_layout()))``
        Words.

    Raises
    ------
    TypeError, ValueError
        If there is no packer for these precisions.
    """

    def __init__(self, precisions: tuple[Precision, ...] = tuple(Precision)) -> None:
        check_precisions(precisions)
        self._precisions = precisions
        super().__init__(
            {
                "i": In(stream.Signature(number_layout())),
                "o": Out(stream.Signature(packed_layout())),
            }
        )

    @property
    def precisions(self) -> tuple[Precision, ...]:
        """Precisions that its numbers may have."""
        return self._precisions

    def elaborate(self, platform: object) -> Module:
        m = Module()
        steps = WORD_BITS // _STEP
        at = Signal(range(steps))  # of the next number, in the narrowest ones
        places = Signal(steps)  # those that it takes
        copies = Signal(WORD_BITS)  # what stands there
        full = Signal()
        with m.Switch(self.i.p.to):
            for precision in self._precisions:
                width = precision.bits // _STEP
                with m.Case(precision):
                    m.d.comb += [
                        places.eq(((1 << width) - 1) << at),
                        copies.eq(self.i.p.word[: precision.bits].replicate(precision.lanes)),
                        full.eq(at == steps - width),
                    ]
                    with m.If(self.i.valid & self.i.ready):
                        m.d.sync += at.eq(at + width)

        is_first = at == 0
        m.d.comb += self.i.ready.eq(~self.o.valid | self.o.ready)
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                self.o.p.word.eq(_put(Mux(is_first, 0, self.o.p.word), copies, places)),
                self.o.p.flags.eq(
                    Mux(is_first, 0, Value.cast(self.o.p.flags)) | Value.cast(self.i.p.flags)
                ),
                self.o.p.last.eq(self.i.p.last),
                self.o.valid.eq(full | self.i.p.last),
            ]
            with m.If(self.i.p.last):
                m.d.sync += at.eq(0)
        return m


def _put(word: Value, copies: Value, places: Value) -> Value:
    """The word, with what stands at some places replaced."""
    return Cat(
        Mux(place, copies.word_select(number, _STEP), word.word_select(number, _STEP))
        for number, place in enumerate(places)
    )
