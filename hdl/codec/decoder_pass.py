"""A pass over a coded block: decoded, kept until it is known to be sound."""

from amaranth.hdl import Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

from adagrain.models.interface.codec import BLOCK, CODED_FORMATS, ELEMENT_BITS, BlockOutcome
from adagrain.models.interface.formats import FORMATS, FormatCode
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units.decoder import CODED_WORD, DecoderBegin, DecoderRecord

from .block_ports import block_ports
from .decode_fill import DecodeFill
from .decoder import Decoder
from .departure import Departure
from .element_words import ElementWords
from .word_grouper import WordGrouper

__all__ = ["DecoderPass"]


class DecoderPass(wiring.Component):
    """Makes the elements of one coded block: decoder, and where they wait.

    No element leaves, or can be read, before the whole block was found to be sound; of one that
    is not none does.

    As fast as :class:`Decoder`; then two cycles for each beat of the data port, if the elements
    leave there.

    Source: our own; as ``docs/codec.md`` says.

    Parameters
    ----------
    lanes : int
        Words in a beat, and elements that are made in a cycle: 1, 2 or 4.

    Members
    -------
    i_code : ``In(stream.Signature(CodeWrite))``
        Codes of symbols, the shortest first; not while a pass is under way.
    slots : ``In(SLOTS)``
        Those that have a table.
    i_begin : ``In(stream.Signature(DecoderBegin))``
        Begins a pass. Its elements can be read no more.
    refusal : ``Out(Status)``
        Of what is on ``i_begin``, offered or not: ``BAD_VALUE`` where it is no block or longer than
        one, its words are no FP32, or its elements are of no format that is coded, or base or
        mantissa bits not of that; ``NO_TABLE`` where its slot has none.
    i : ``In(stream.Signature(beat_layout(lanes)))``
        Words of the coded block. The last beat may keep no lane.
    ends : ``In(1)``
        The record is waited for.
    given_up : ``In(1)``
        The record is waited for, but counts for nothing: the decoder is reset.
    o : ``Out(stream.Signature(DecoderRecord))``
        What has become of the block, when its elements have left.
    size, i_read, o_read, o_data
        As those of :class:`Departure`.

    Raises
    ------
    TypeError, ValueError
        If ``lanes`` is not what it must be.
    """

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        super().__init__(block_ports(lanes, DecoderBegin, DecoderRecord))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        forgets = ResetInserter(self.given_up)
        m.submodules.fill = fill = DecodeFill()
        m.submodules.grouper = grouper = forgets(WordGrouper(self._lanes))
        m.submodules.decoder = decoder = forgets(Decoder(self._lanes))
        m.submodules.words = words = forgets(ElementWords(self._lanes))
        m.submodules.departure = departure = Departure()
        connect(m, flipped(self.i_code), fill.i)
        connect(m, fill.o, decoder.i_table)
        connect(m, flipped(self.i), grouper.i)
        connect(m, grouper.o, decoder.i)
        connect(m, decoder.o, words.i)
        connect(m, words.o, departure.i)
        connect(m, flipped(self.i_read), departure.i_read)
        connect(m, departure.o_read, flipped(self.o_read))
        connect(m, departure.o_data, flipped(self.o_data))
        self._judge(m)
        self._announce(m, decoder, departure)
        m.d.comb += [
            departure.ends.eq(self.ends),
            departure.given_up.eq(self.given_up),
            departure.taken.eq(self.o.ready),
            self.o.valid.eq(departure.over),
            self.size.eq(departure.size),
        ]
        return m

    def _judge(self, m: Module) -> None:
        """Refuse what is no block, or cannot have been coded so."""
        begin = self.i_begin.p
        fits: Value | int = 0
        for code in CODED_FORMATS:
            fmt = FORMATS[code]
            sound = begin.exponent <= fmt.largest_exponent
            sound &= begin.mantissa_bits <= fmt.mantissa_bits
            fits = Mux(begin.element_format == code, sound, fits)
        no_block = (begin.elements == 0) | (begin.elements > BLOCK)
        longest = 2 * BLOCK // CODED_WORD
        too_long = (begin.count > longest) | (begin.count == longest) & (begin.spare == 0)
        with m.If(~fits | no_block | too_long | (begin.format != FormatCode.FP32)):
            m.d.comb += self.refusal.eq(Status.BAD_VALUE)
        with m.Elif(~self.slots.bit_select(begin.slot, 1)):
            m.d.comb += self.refusal.eq(Status.NO_TABLE)

    def _announce(self, m: Module, decoder: Decoder, departure: Departure) -> None:
        """Tell the decoder of the block, and what came of it to whoever lets it go."""
        begin, outcome = Signal(DecoderBegin), self.o.p.outcome
        region, block = decoder.i_begin, decoder.i_block
        m.d.comb += [
            region.p.exponent.eq(begin.exponent),
            region.p.mantissa_bits.eq(begin.mantissa_bits),
            region.p.bf16.eq(begin.element_format == FormatCode.BF16),
            region.p.slot.eq(begin.slot),
            block.p.count.eq(begin.elements),
            block.p.length.eq(begin.count * CODED_WORD - begin.spare),
            block.p.last.eq(1),
            departure.to_port.eq(begin.to_port),
            self.i_begin.ready.eq(departure.free),
            departure.begin.eq(self.i_begin.valid & departure.free),
            decoder.o_block.ready.eq(1),
            departure.complete.eq(decoder.o_block.valid | self.given_up),
        ]
        with m.If(decoder.o_block.payload == BlockOutcome.FINE):
            m.d.comb += departure.length.eq(begin.elements * (ELEMENT_BITS // 8))
        with m.If(departure.begin):
            m.d.sync += [begin.eq(self.i_begin.p), region.valid.eq(1), block.valid.eq(1)]
        with m.Else():
            m.d.sync += [
                region.valid.eq(region.valid & ~region.ready & ~self.given_up),
                block.valid.eq(block.valid & ~block.ready & ~self.given_up),
            ]
        with m.If(decoder.o_block.valid):
            m.d.sync += [
                outcome.eq(decoder.o_block.payload),
                self.o.p.elements.eq(
                    Mux(decoder.o_block.payload == BlockOutcome.FINE, begin.elements, 0)
                ),
            ]
