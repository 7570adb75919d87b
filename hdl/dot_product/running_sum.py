"""Sums of integers of which one grows at a time."""

from amaranth.hdl import Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.delay import delayed
from adagrain.models.dot_product import INTEGER_BITS
from adagrain.models.slice import LANE_BITS

from .accumulator import later

__all__ = ["RunningSum", "turn_layout"]


def turn_layout(entries: int) -> data.StructLayout:
    """Which sum an integer belongs to.

    Members
    -------
    valid : ``unsigned(1)``
        There is an integer.
    index : ``unsigned(...)``
        Number of its sum.
    first : ``unsigned(1)``
        The sum begins with it.
    stays : ``unsigned(1)``
        The last integer belonged to the same sum.
    """
    bits = (entries - 1).bit_length()
    names = {"index": unsigned(bits), "first": unsigned(1), "stays": unsigned(1)}
    return data.StructLayout({"valid": unsigned(1), **names})


class RunningSum(wiring.Component):
    """Adds integers to sums of 32 bits, which wrap around and tell it.

    One integer per cycle. The sum that grows is in a register, the others are in a memory that is
    read synchronously, as that of an FPGA without any other is. The turn comes :attr:`AHEAD`
    cycles before its integer, and the sum a cycle after this. No back-pressure.

    Turns that go on with a sum must stay with it, or come :attr:`LOOP` cycles after its last one.

    Parameters
    ----------
    entries : int
        Number of sums.

    Members
    -------
    turn : ``In(turn_layout(entries))``
        To which sum.
    i : ``In(signed(18))``
        Integer.
    o : ``Out(32)``
        The sum with it.
    overflow : ``Out(1)``
        It has wrapped around since it began.
    """

    AHEAD = 2
    LOOP = AHEAD + 2

    def __init__(self, entries: int) -> None:
        self._entries = entries
        super().__init__(
            {
                "turn": In(turn_layout(entries)),
                "i": In(signed(LANE_BITS + 2)),
                "o": Out(INTEGER_BITS),
                "overflow": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.sums = sums = memory.Memory(
            shape=INTEGER_BITS, depth=self._entries, init=[], attrs={"no_rw_check": 1}
        )
        # In registers: a 33rd bit would take a block RAM more.
        overflows = Signal(self._entries)
        read, write = sums.read_port(domain="comb"), sums.write_port()
        found = later(m, self.turn, 1)
        turn = later(m, found, 1)
        ended = later(m, turn, 1)
        stored = Signal(INTEGER_BITS, reset_less=True)
        base, base_overflow = Signal(INTEGER_BITS), Signal()
        m.d.comb += read.addr.eq(self.turn.index)
        m.d.sync += [
            stored.eq(read.data),
            base.eq(Mux(found.first, 0, stored)),
            base_overflow.eq(~found.first & overflows.bit_select(found.index, 1)),
        ]

        stays = turn.stays & ~turn.first
        value, total = Signal(INTEGER_BITS), Signal(INTEGER_BITS)
        before, signs = Signal(), Signal(2)
        m.d.comb += [
            value.eq(Mux(stays, self.o, base)),
            total.eq(value.as_signed() + self.i),
            self.overflow.eq(before | (~signs.xor() & (signs[0] != self.o[-1]))),
        ]
        with m.If(turn.valid):
            m.d.sync += [
                self.o.eq(total),
                signs.eq(value[-1] | self.i[-1] << 1),
                before.eq(Mux(stays, self.overflow, base_overflow)),
            ]
        m.d.comb += [
            write.addr.eq(ended.index),
            write.data.eq(self.o),
            write.en.eq(ended.valid),
        ]
        with m.If(ended.valid):
            m.d.sync += overflows.bit_select(ended.index, 1).eq(self.overflow)
        return m
