"""The encoder: regions to coded blocks."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.stream.packet import check_lanes
from adagrain.hdl.stream.queue import Queue

from .assembly import Assembly
from .bit_packer import BitPacker
from .code_table import CodeTable
from .encoder_layouts import CHUNK_BITS, CodedWord, CodeWrite, Mark
from .layouts import CODED_BYTES, RegionParameters, elements_layout
from .lengths import Lengths
from .nonzeros import Nonzeros
from .symbols import Symbols

__all__ = ["Encoder"]


class Encoder(wiring.Component):
    """Makes the coded blocks of regions, as :func:`adagrain.models.codec.coded_blocks` does.

    A beat of zeros per cycle, and an element that is not +0; a block's end takes a cycle. Where
    elements of several lanes come faster than one a cycle for long, ``i`` waits. Regions may follow
    each other without a pause, each with parameters and a table slot of its own: a slot may be
    written while the other one is used. Those of one beat without such elements take two cycles
    each. Words of a block leave as they become full, its length behind them, :attr:`LATENCY` cycles
    after its last beat or later, a cycle less where that is all +0. No element is looked at twice,
    and nothing is stored but what waits.

    It makes no headers, does not choose base and table, and stores no block: whether one takes
    fewer bytes than its elements is known at its end only, where ``given_up`` tells it.

    Source: our own; as ``docs/codec.md`` says.

    Parameters
    ----------
    lanes : int
        Elements in a beat: 1, 2 or 4.

    Members
    -------
    i_code : ``In(stream.Signature(CodeWrite))``
        Codes of symbols; taken at once. No slot may be written whose region is under way. All
        symbols must be written once, the escape among them, those without a code with length 0;
        a reset leaves them.
    i_region : ``In(stream.Signature(RegionParameters))``
        How a region is coded, for each, in order; two may wait.
    i : ``In(stream.Signature(elements_layout(lanes)))``
        Regions' elements, one region behind the other. A lane that is not kept in a beat that is
        not the last counts as +0. An empty last beat makes a block of no elements, given up, where
        no other is under way: of an empty region, and behind a full block.
    o : ``Out(stream.Signature(CodedWord))``
        Coded blocks; of one that is given up, what comes before its last word counts for nothing.

    Raises
    ------
    TypeError, ValueError
        If ``lanes`` is not what it must be.
    """

    LATENCY = 15

    def __init__(self, lanes: int) -> None:
        check_lanes(lanes)
        self._lanes = lanes
        super().__init__(
            {
                "i_code": In(stream.Signature(CodeWrite)),
                "i_region": In(stream.Signature(RegionParameters)),
                "i": In(stream.Signature(elements_layout(lanes))),
                "o": Out(stream.Signature(CodedWord)),
            }
        )

    @property
    def lanes(self) -> int:
        """Elements in a beat."""
        return self._lanes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.regions = regions = Queue(RegionParameters, 2)
        m.submodules.nonzeros = nonzeros = Nonzeros(self._lanes)
        m.submodules.symbols = symbols = Symbols()
        m.submodules.code_table = code_table = CodeTable()
        m.submodules.assembly = assembly = Assembly()
        m.submodules.bit_packer = packer = BitPacker(CHUNK_BITS, 8 * CODED_BYTES, Mark)
        m.submodules.lengths = lengths = Lengths()
        connect(m, flipped(self.i_region), regions.i)
        connect(m, regions.o, symbols.i_region)
        connect(m, flipped(self.i_code), code_table.i_write)
        connect(m, flipped(self.i), nonzeros.i)
        connect(m, nonzeros.o, symbols.i)
        connect(m, symbols.o, code_table.i)
        connect(m, code_table.o, assembly.i)
        connect(m, assembly.o, packer.i)
        connect(m, packer.o, lengths.i)
        connect(m, lengths.o, flipped(self.o))
        return m
