"""A pass over a block: masked, coded, kept until it is asked for."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import connect, flipped

from adagrain.hdl.mask import Mask
from adagrain.models.interface.codec import BLOCK, CODED_FORMATS, ELEMENT_BITS
from adagrain.models.interface.formats import FORMATS, FormatCode
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units.encoder import EncoderBegin, EncoderRecord

from .block_ports import block_ports
from .departure import Departure
from .encoder import Encoder

__all__ = ["EncoderPass"]


class EncoderPass(wiring.Component):
    """Makes one coded block of a tensor's elements: mask, encoder, and where the block waits.

    What a coded block holds is known at its end only, where it may be given up; so it leaves, or
    can be read, when it is complete. No port has to take it before, and no block is too long for
    the memory: where the data port is slow, ``o`` waits, not ``i``.

    A beat per cycle in, as far as :class:`Encoder` takes them; behind the last one and the
    encoder's latency two cycles for each beat of the data port, if the block leaves there.

    Source: our own; as ``docs/codec.md`` says.

    Parameters
    ----------
    lanes : int
        Elements in a beat: 1, 2 or 4.

    Members
    -------
    i_code : ``In(stream.Signature(CodeWrite))``
        Codes of symbols; not while a pass is under way.
    slots : ``In(SLOTS)``
        Those that have a table.
    i_begin : ``In(stream.Signature(EncoderBegin))``
        Begins a pass. Its block can be read no more.
    refusal : ``Out(Status)``
        Of what is on ``i_begin``, offered or not: ``BAD_VALUE`` where it is longer than a block, or
        of no format that is coded, or a base or the mantissa bits are not of its format;
        ``NO_TABLE`` where its slot has none.
    i : ``In(stream.Signature(beat_layout(lanes)))``
        Elements, in the upper halves of words. The last beat may keep no lane where fewer than
        a block's elements came before.
    ends : ``In(1)``
        The record is waited for.
    given_up : ``In(1)``
        The record is waited for, but counts for nothing: the block neither leaves nor can be read.
    o : ``Out(stream.Signature(EncoderRecord))``
        What has become of the block, when it has left.
    size : ``Out(range(WORDS + 1))``
        Words that can be read.
    i_read, o_read : as those of :class:`Departure`
        Words of the block.
    o_data : ``Out(stream.Signature(Beat))``
        The data port.

    Raises
    ------
    TypeError, ValueError
        If ``lanes`` is not what it must be.
    """

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        super().__init__(block_ports(lanes, EncoderBegin, EncoderRecord))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.mask = mask = Mask(self._lanes)
        m.submodules.encoder = encoder = Encoder(self._lanes)
        m.submodules.departure = departure = Departure()
        connect(m, flipped(self.i_code), encoder.i_code)
        connect(m, mask.o, encoder.i)
        connect(m, flipped(self.i_read), departure.i_read)
        connect(m, departure.o_read, flipped(self.o_read))
        connect(m, departure.o_data, flipped(self.o_data))
        begin = Signal(EncoderBegin)
        self._judge(m)
        m.d.comb += [
            self.i_begin.ready.eq(departure.free & encoder.i_region.ready),
            encoder.i_region.valid.eq(self.i_begin.valid & departure.free),
            departure.begin.eq(self.i_begin.valid & self.i_begin.ready),
            departure.to_port.eq(begin.to_port),
            departure.ends.eq(self.ends),
            departure.given_up.eq(self.given_up),
            departure.taken.eq(self.o.ready),
            self.o.valid.eq(departure.over),
            self.o.p.count.eq(begin.count),
            self.size.eq(departure.size),
        ]
        with m.If(departure.begin):
            m.d.sync += begin.eq(self.i_begin.p)
        self._feed(m, mask, encoder, begin)
        self._keep(m, encoder, departure)
        return m

    def _judge(self, m: Module) -> None:
        """Refuse what is no block, or cannot be coded so."""
        begin = self.i_begin.p
        fits: Value | int = 0
        for code in CODED_FORMATS:
            fmt = FORMATS[code]
            bases = (begin.exponent, begin.mask_exponent)
            sound = Cat(base <= fmt.largest_exponent for base in bases).all()
            sound &= begin.mantissa_bits <= fmt.mantissa_bits
            fits = Mux(begin.format == code, sound, fits)
        with m.If(~fits | (begin.count > BLOCK)):
            m.d.comb += self.refusal.eq(Status.BAD_VALUE)
        with m.Elif(~self.slots.bit_select(begin.slot, 1)):
            m.d.comb += self.refusal.eq(Status.NO_TABLE)

    def _feed(self, m: Module, mask: Mask, encoder: Encoder, begin: data.View) -> None:
        """Give mask and encoder elements, and what holds for all of them."""
        new, region = self.i_begin.p, encoder.i_region.p
        m.d.comb += [
            region.exponent.eq(new.exponent),
            region.mantissa_bits.eq(new.mantissa_bits),
            region.bf16.eq(new.format == FormatCode.BF16),
            region.slot.eq(new.slot),
            mask.i_region.p.exponent.eq(begin.mask_exponent),
            mask.i_region.p.bf16.eq(begin.format == FormatCode.BF16),
            mask.i_region.p.keep.eq(begin.keep),
            mask.i_region.valid.eq(1),
            mask.i.p.keep.eq(self.i.p.keep),
            mask.i.p.last.eq(self.i.p.last),
            mask.i.valid.eq(self.i.valid),
            self.i.ready.eq(mask.i.ready),
        ]
        for lane in range(self._lanes):
            m.d.comb += mask.i.p.data[lane].eq(self.i.p.data[lane][-ELEMENT_BITS:])

    def _keep(self, m: Module, encoder: Encoder, departure: Departure) -> None:
        """Put what is coded where it waits, and count it."""
        word, masked, coded = encoder.o.p, encoder.i, self.o.p.coded
        present = [masked.p.keep[n] & masked.p.data[n].any() for n in range(self._lanes)]
        m.d.comb += [
            departure.i.payload.eq(word.data.as_value()),
            departure.i.valid.eq(encoder.o.valid),
            encoder.o.ready.eq(1),
            departure.complete.eq(encoder.o.valid & word.last),
            departure.length.eq(Mux(word.given_up, 0, word.length)),
        ]
        with m.If(departure.begin):
            m.d.sync += coded.eq(0)
        with m.Elif(masked.valid & masked.ready):
            m.d.sync += coded.eq(coded + sum(present))
        with m.If(departure.complete):
            m.d.sync += [
                self.o.p.length.eq(departure.length),
                self.o.p.given_up.eq(word.given_up),
            ]
