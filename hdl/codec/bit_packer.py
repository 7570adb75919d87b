"""Bits of any number into words."""

from typing import Any

from amaranth.hdl import Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from adagrain.hdl.checks import check_integer, check_power_of_two
from adagrain.hdl.stream.pipeline import elastic

from .encoder_layouts import chunk_layout

__all__ = ["BitPacker", "packed_layout"]

_BYTE = 8


def packed_layout(width: int, mark: Any) -> data.StructLayout:
    """A packer's words.

    Members
    -------
    bits : ``unsigned(width)``
        The first one highest.
    last : ``unsigned(1)``
        It ends its block.
    fill : ``range(width)``
        Bits of a block's last word that are the block's, padding not counted.
    mark : ``mark``
        What came with the block's end.
    """
    return data.StructLayout(
        {"bits": unsigned(width), "last": unsigned(1), "fill": range(width), "mark": mark}
    )


class BitPacker(wiring.Component):
    """Puts chunks of bits behind each other; blocks of them begin with a word of their own.

    A chunk per cycle, latency three cycles; words leave as they become full, and a block's last one
    with its end, even where nothing is left for it. Ones fill the last byte of a block, zeros the
    rest of its last word.

    Parameters
    ----------
    longest : int
        The most bits of a chunk, at least 7.
    width : int
        Bits of a word: a power of two, at least 8, at least ``longest``.
    mark : ShapeLike
        Shape of what a block's end brings along.

    Members
    -------
    i : ``In(stream.Signature(chunk_layout(longest, mark)))``
        Chunks.
    o : ``Out(stream.Signature(packed_layout(width, mark)))``
        Words.

    Attributes
    ----------
    registers : dict
        Its state by names, once it is elaborated; what proofs speak of.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, longest: int, width: int, mark: Any) -> None:
        check_integer("longest", longest, _BYTE - 1)
        check_power_of_two("width", width, _BYTE)
        if width < longest:
            raise ValueError(f"width must be at least longest, {longest}, not {width}")
        self._longest, self._width, self._mark = longest, width, mark
        self.registers: dict[str, Any] = {}
        super().__init__(
            {
                "i": In(stream.Signature(chunk_layout(longest, mark))),
                "o": Out(stream.Signature(packed_layout(width, mark))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shifted = stream.Signature(
            data.StructLayout(
                {
                    "bits": unsigned(self._longest + _BYTE - 1),  # as they stand in a byte
                    "byte": range(self._width // _BYTE),  # where they begin
                    "fill": range(self._width),
                    "fills": unsigned(1),  # they fill a word
                    "last": unsigned(1),
                    "mark": self._mark,
                }
            )
        ).create(path=("shifted",))
        self._shift(m, shifted)
        self._merge(m, shifted)
        return m

    def _shift(self, m: Module, shifted: stream.Interface) -> None:
        """Find where each chunk begins, and shift it within that byte."""
        at = Signal(range(self._width))
        behind = Signal(range(self._width + self._longest))
        chunk, at_chunk, fills = Signal.like(self.i.p), Signal.like(at), Signal()
        valid = Signal(2)
        padding = ~(Const((1 << _BYTE - 1) - 1) >> (-at)[:3])[: _BYTE - 1]
        end = padding << self._longest - _BYTE + 1
        m.d.comb += behind.eq(at + self.i.p.length)
        with m.If(elastic(m, self.i, shifted, 2, valid)):
            with m.If(self.i.valid):
                m.d.sync += at.eq(Mux(self.i.p.last, 0, behind[: len(at)]))
            m.d.sync += [
                chunk.eq(self.i.p),
                chunk.bits.eq(Mux(self.i.p.last, end, self.i.p.bits)),
                at_chunk.eq(at),
                fills.eq(behind[len(at)]),
                shifted.p.bits.eq((chunk.bits << _BYTE - 1) >> at_chunk[:3]),
                shifted.p.byte.eq(at_chunk[3:]),
                shifted.p.fill.eq(at_chunk),
                shifted.p.fills.eq(fills),
                shifted.p.last.eq(chunk.last),
                shifted.p.mark.eq(chunk.mark),
            ]
        self.registers |= {"at": at, "valid": valid, "shifted": shifted.p}
        self.registers |= {"chunk": chunk, "at_chunk": at_chunk, "fills": fills}

    def _merge(self, m: Module, shifted: stream.Interface) -> None:
        """Put a chunk behind what its word has already."""
        chunk, width = shifted.p, self._width
        carried = self._longest - 1  # bits that may be left for the next word
        placed, begun, word = Signal(width + carried), Signal(width), Signal(width)
        m.d.comb += [
            placed.eq(chunk.bits << (~chunk.byte << exact_log2(_BYTE))),
            word.eq(begun | placed[carried:]),
        ]
        with m.If(~self.o.valid | self.o.ready):
            m.d.comb += shifted.ready.eq(1)
            m.d.sync += [
                self.o.valid.eq(shifted.valid & (chunk.fills | chunk.last)),
                self.o.p.bits.eq(word),
                self.o.p.last.eq(chunk.last),
                self.o.p.fill.eq(chunk.fill),
                self.o.p.mark.eq(chunk.mark),
            ]
            with m.If(shifted.valid):
                m.d.sync += begun.eq(word)
                with m.If(chunk.fills):
                    m.d.sync += begun.eq(placed[:carried] << width - carried)
                with m.If(chunk.last):
                    m.d.sync += begun.eq(0)
        self.registers["begun"] = begun
