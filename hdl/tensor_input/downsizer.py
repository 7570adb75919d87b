"""Between a wide port and fewer lanes."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.checks import check_integer

__all__ = ["Downsizer"]


class Downsizer(wiring.Component):
    """Splits beats of 32-bit words into smaller ones, the first words first.

    Nothing is stored: a beat is taken together with its last part, and must be stable until
    then, as every stream's payload is. No bubbles, latency 0. Reset starts with a beat's first
    part.

    Parameters
    ----------
    words : int
        Words in a beat that enters.
    lanes : int
        Words in a beat that leaves; must divide ``words``.

    Members
    -------
    i : ``In(stream.Signature(data.ArrayLayout(32, words)))``
        Wide beats.
    o : ``Out(stream.Signature(data.ArrayLayout(32, lanes)))``
        Small ones.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, words: int, lanes: int) -> None:
        check_integer("words", words, 1)
        check_integer("lanes", lanes, 1)
        if words % lanes:
            raise ValueError(f"lanes must divide {words}, not {lanes!r}")
        self._words = words
        self._lanes = lanes
        super().__init__(
            {
                "i": In(stream.Signature(data.ArrayLayout(unsigned(32), words))),
                "o": Out(stream.Signature(data.ArrayLayout(unsigned(32), lanes))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parts = self._words // self._lanes
        part = Signal(range(parts))
        last = part == parts - 1
        beat = self.i.payload.as_value()
        m.d.comb += [
            self.o.payload.eq(beat.word_select(part, 32 * self._lanes)),
            self.o.valid.eq(self.i.valid),
            self.i.ready.eq(self.o.ready & last),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += part.eq(Mux(last, 0, part + 1))
        return m
