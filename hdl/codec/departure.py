"""Ways by which a block leaves when it is complete."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from adagrain.hdl.tensor_input import Beat
from adagrain.models.interface.codec import BLOCK
from adagrain.models.interface.units.code_lengths import WORD_BYTES

from .block_buffer import WORDS, BlockBuffer, Word

__all__ = ["Departure"]


class Departure(wiring.Component):
    """Keeps the block of a pass until that is ended, and lets it go: to the data port, or nowhere.

    A block that is complete waits for the end of its pass, since a pass that is given up must leave
    nothing. Then it leaves by the data port, two cycles for each beat, or at once where it does
    not; and it can be read until the next pass begins.

    Members
    -------
    free : ``Out(1)``
        No pass is under way.
    begin : ``In(1)``
        One begins in this cycle; only while ``free``.
    i : ``In(stream.Signature(Word))``
        Words of its block; always taken.
    complete, length : ``In(1)``, ``In(range(2 * BLOCK + 1))``
        All have come in this cycle; bytes of these that are a block.
    to_port : ``In(1)``
        It leaves by the data port; stable until ``over``.
    ends, given_up : ``In(1)``
        The pass is ended, or given up; until ``over``.
    over : ``Out(1)``
        The block has left.
    taken : ``In(1)``
        The pass is over; only while ``over``.
    size : ``Out(range(WORDS + 1))``
        Words that can be read: none while a pass is under way.
    i_read, o_read, o_data
        As those of :class:`BlockBuffer`.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "free": Out(1),
                "begin": In(1),
                "i": In(stream.Signature(Word)),
                "complete": In(1),
                "length": In(range(2 * BLOCK + 1)),
                "to_port": In(1),
                "ends": In(1),
                "given_up": In(1),
                "over": Out(1),
                "taken": In(1),
                "size": Out(range(WORDS + 1)),
                "i_read": In(stream.Signature(range(WORDS))),
                "o_read": Out(stream.Signature(Word)),
                "o_data": Out(stream.Signature(Beat)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.buffer = buffer = BlockBuffer()
        connect(m, flipped(self.i), buffer.i)
        connect(m, flipped(self.i_read), buffer.i_read)
        connect(m, buffer.o_read, flipped(self.o_read))
        connect(m, buffer.o_data, flipped(self.o_data))
        size = Signal.like(self.size)
        m.d.comb += [buffer.size.eq(size), buffer.clear.eq(self.begin)]
        with m.FSM():
            with m.State("FREE"):
                m.d.comb += [self.free.eq(1), self.size.eq(size)]
                with m.If(self.begin):
                    m.d.sync += size.eq(0)
                    m.next = "FILL"
            with m.State("FILL"):
                m.d.sync += size.eq((self.length + WORD_BYTES - 1) // WORD_BYTES)
                with m.If(self.complete):
                    m.next = "WAIT"
            with m.State("WAIT"):
                with m.If(self.given_up):
                    m.d.sync += size.eq(0)
                    m.next = "OVER"
                with m.Elif(self.ends):
                    m.next = "OVER"
                    with m.If(self.to_port & (size != 0)):
                        m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += buffer.send.eq(1)
                with m.If(buffer.sent):
                    m.next = "OVER"
            with m.State("OVER"):
                m.d.comb += self.over.eq(1)
                with m.If(self.taken):
                    m.next = "FREE"
        return m
