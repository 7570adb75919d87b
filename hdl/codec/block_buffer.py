"""Keeps a block until it is known whether it is one."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.tensor_input import Beat
from adagrain.models.interface.codec import BLOCK
from adagrain.models.interface.units.code_lengths import WORD_BYTES

__all__ = ["WORDS", "BlockBuffer", "Word"]

#: Eight bytes of a block, the first one lowest.
Word = unsigned(8 * WORD_BYTES)

#: Words of the elements of a block, which no coded block exceeds.
WORDS = 2 * BLOCK // WORD_BYTES


class BlockBuffer(wiring.Component):
    """A memory of a block, which is read word by word, or leaves by the data port.

    A word per cycle goes in. One is offered one cycle after it was asked for, one in two
    cycles; a beat of the data port, two words, takes two cycles, and the first one three.

    It knows neither what is in the block nor when it is complete: it is not to be read while words
    go in, nor by both ways at once.

    Members
    -------
    i : ``In(stream.Signature(Word))``
        Words, from the first one on; always taken.
    clear : ``In(1)``
        The next word is the first one.
    i_read : ``In(stream.Signature(range(WORDS)))``
        Numbers of words that are asked for.
    o_read : ``Out(stream.Signature(Word))``
        These.
    send, size : ``In(1)``, ``In(range(WORDS + 1))``
        Send so many words, at least one, out of the data port; both stable until ``sent``.
    sent : ``Out(1)``
        The last of them leaves in this cycle.
    o_data : ``Out(stream.Signature(Beat))``
        The data port; where the last beat has one word, zeros follow it.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(Word)),
                "clear": In(1),
                "i_read": In(stream.Signature(range(WORDS))),
                "o_read": Out(stream.Signature(Word)),
                "send": In(1),
                "size": In(range(WORDS + 1)),
                "sent": Out(1),
                "o_data": Out(stream.Signature(Beat)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.words = words = memory.Memory(shape=Word, depth=WORDS, init=[])
        write, read, at = words.write_port(), words.read_port(), Signal(range(WORDS + 1))
        m.d.comb += [
            self.i.ready.eq(1),
            write.addr.eq(at),
            write.data.eq(self.i.payload),
            write.en.eq(self.i.valid),
        ]
        with m.If(self.clear):
            m.d.sync += at.eq(0)
        with m.Elif(self.i.valid):
            m.d.sync += at.eq(at + 1)
        self._read(m, read)
        self._send(m, read)
        return m

    def _read(self, m: Module, read: memory.ReadPort) -> None:
        """Word by word."""
        m.d.comb += [
            self.i_read.ready.eq(~self.o_read.valid & ~self.send),
            self.o_read.payload.eq(read.data),
        ]
        with m.If(~self.send):
            m.d.comb += [read.addr.eq(self.i_read.payload), read.en.eq(self.i_read.ready)]
        with m.If(self.i_read.ready):
            m.d.sync += self.o_read.valid.eq(self.i_read.valid)
        with m.Elif(self.o_read.ready):
            m.d.sync += self.o_read.valid.eq(0)

    def _send(self, m: Module, read: memory.ReadPort) -> None:
        """Beat by beat; the first word of the next one is read as a beat leaves."""
        first, number = Signal(Word), Signal(range(WORDS + 2))
        beat, is_alone = self.o_data, number + 1 == self.size
        m.d.comb += beat.payload.eq(Cat(first, Mux(is_alone, 0, read.data)))
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += number.eq(0)
                with m.If(self.send):
                    m.d.comb += [read.addr.eq(0), read.en.eq(1)]
                    m.next = "FIRST"
            with m.State("FIRST"):
                m.d.comb += [read.addr.eq(number + 1), read.en.eq(1)]
                m.d.sync += first.eq(read.data)
                m.next = "SECOND"
            with m.State("SECOND"):
                m.d.comb += [beat.valid.eq(1), read.addr.eq(number + 2), read.en.eq(beat.ready)]
                with m.If(beat.ready):
                    m.d.sync += number.eq(number + 2)
                    m.next = "FIRST"
                    with m.If(number + 2 >= self.size):
                        m.d.comb += self.sent.eq(1)
                        m.next = "IDLE"
