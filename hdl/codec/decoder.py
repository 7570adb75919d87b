"""The decoder: coded blocks to the elements of regions."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.stream.packet import check_lanes
from adagrain.hdl.stream.queue import Queue
from adagrain.models.interface.codec import BlockOutcome

from .decoder_layouts import Block, DecodeWrite, Element
from .fields import Fields
from .layouts import Coded, RegionParameters, elements_layout
from .placer import Placer
from .scanner import Scanner

__all__ = ["Decoder"]

#: Elements that wait where many zeros stand before one.
_WAITING = 8


class Decoder(wiring.Component):
    """Makes elements of coded blocks, as :func:`adagrain.models.codec.decoded_block` does.

    An element that is not +0 in two cycles, while a beat of +0 leaves in each; a region's blocks
    follow each other without a pause. A table slot may be written while a region that uses the
    other one is under way.

    A block's bytes are trusted in nothing: it always takes its groups of them, gives its ``count``
    elements, and one outcome. From the first element that is wrong on all are +0.

    Headers, tables of code lengths, stored blocks and the checksum are the host's. What comes of a
    table whose codes are not those of a :class:`~adagrain.models.codec.CodeTable` is not defined,
    but for the numbers of groups, elements and outcomes.

    Source: our own; as ``docs/codec.md`` says.

    Parameters
    ----------
    lanes : int
        Elements in a beat: 1, 2 or 4.

    Members
    -------
    i_table : ``In(stream.Signature(DecodeWrite))``
        Entries of decode tables, one per cycle; no region that uses the slot may be under way.
    i_begin : ``In(stream.Signature(RegionParameters))``
        Begins a region of at least one block, when the last elements of the one before that are not
        +0 are on their way to their places: so regions of one block of one beat take six cycles
        each, where blocks of one region take two.
    i_block : ``In(stream.Signature(Block))``
        Its blocks, of at least one element. Each but the last must have a multiple of ``lanes``.
    i : ``In(stream.Signature(Coded))``
        Their bytes, each block's from the first byte of a group on; the rest of its last group is
        ignored.
    o : ``Out(stream.Signature(elements_layout(lanes)))``
        Regions' elements.
    o_block : ``Out(stream.Signature(BlockOutcome))``
        What was found in each block, behind its last beat.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, lanes: int) -> None:
        check_lanes(lanes)
        self._lanes = lanes
        super().__init__(
            {
                "i_table": In(stream.Signature(DecodeWrite)),
                "i_begin": In(stream.Signature(RegionParameters)),
                "i_block": In(stream.Signature(Block)),
                "i": In(stream.Signature(Coded)),
                "o": Out(stream.Signature(elements_layout(lanes))),
                "o_block": Out(stream.Signature(BlockOutcome)),
            }
        )

    @property
    def lanes(self) -> int:
        """Elements in a beat."""
        return self._lanes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.scanner = scanner = Scanner()
        m.submodules.fields = fields = Fields()
        m.submodules.waiting = waiting = Queue(Element, _WAITING)
        m.submodules.placer = placer = Placer(self._lanes)
        for name in ("i_table", "i_begin", "i_block", "i"):
            connect(m, flipped(getattr(self, name)), getattr(scanner, name))
        m.d.comb += [fields.region.eq(scanner.region), scanner.in_use.eq(fields.o.valid)]
        connect(m, scanner.o, fields.i)
        connect(m, fields.o, waiting.i)
        connect(m, waiting.o, placer.i)
        connect(m, placer.o, flipped(self.o))
        connect(m, placer.o_block, flipped(self.o_block))
        return m
