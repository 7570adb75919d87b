"""Sums of integers of which one grows at a time."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.dot_product import INTEGER_BITS
from adagrain.models.slice import LANE_BITS

from .accumulator import check_entries, index_shape, later

__all__ = ["RunningSum", "slot_layout"]


def slot_layout(entries: int) -> data.StructLayout:
    """The sum that an integer belongs to.

    Members
    -------
    valid : ``unsigned(1)``
        There is an integer.
    index : ``unsigned(...)``
        Number of its sum.
    stays : ``unsigned(1)``
        It goes on with the sum of the integer before.
    returns : ``unsigned(1)``
        It goes on with another one. If neither, its sum begins.
    """
    names = {"index": index_shape(entries), "stays": unsigned(1), "returns": unsigned(1)}
    return data.StructLayout({"valid": unsigned(1), **names})


class RunningSum(wiring.Component):
    """Adds integers to sums of 32 bits, which wrap around and tell it.

    One integer per cycle, in any order of sums. The one that grows is in a register, all are in a
    memory that is read synchronously, as an FPGA without any other has it. The slot comes a cycle
    before its integer, and the sum a cycle after this. No back-pressure.

    Parameters
    ----------
    entries : int
        Number of sums, at least 2.

    Members
    -------
    slot : ``In(slot_layout(entries))``
        To which sum.
    i : ``In(signed(18))``
        Integer.
    o : ``Out(32)``
        The sum with it.
    overflow : ``Out(1)``
        It has wrapped around since it began.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, entries: int) -> None:
        check_entries(entries)
        self._entries = entries
        super().__init__(
            {
                "slot": In(slot_layout(entries)),
                "i": In(signed(LANE_BITS + 2)),
                "o": Out(INTEGER_BITS),
                "overflow": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        slot = later(m, self.slot, 1)
        value, total = Signal(INTEGER_BITS), Signal(INTEGER_BITS)
        stored = self._stored(m, slot, total)
        m.d.comb += [
            value.eq(Mux(slot.stays, self.o, stored)),
            total.eq(value.as_signed() + self.i),
        ]
        with m.If(slot.valid):
            m.d.sync += self.o.eq(total)
        self._tell(m, slot, value[-1])
        return m

    def _stored(self, m: Module, slot: data.View, total: Value) -> Value:
        """The number in the memory, to which the total goes in the same cycle.

        What is read is not what is written: the sum would stay.
        """
        sums = memory.Memory(
            shape=INTEGER_BITS, depth=self._entries, init=[], attrs={"no_rw_check": 1}
        )
        m.submodules.sums = sums
        read, write = sums.read_port(domain="comb"), sums.write_port()
        stored = Signal(INTEGER_BITS, reset_less=True)
        m.d.sync += stored.eq(Mux(self.slot.returns, read.data, 0))
        m.d.comb += [
            read.addr.eq(self.slot.index),
            write.addr.eq(slot.index),
            write.data.eq(total),
            write.en.eq(slot.valid),
        ]
        return stored

    def _tell(self, m: Module, slot: data.View, sign: Value) -> None:
        """Tell that the sum has wrapped around; a 33rd bit of the memory would be a block RAM."""
        ended = later(m, slot, 1)
        raised = Signal(self._entries)
        before, signs = Signal(), Signal(2)
        wraps = (signs[0] == signs[1]) & (self.o[-1] != signs[0])
        m.d.comb += self.overflow.eq(before | wraps)
        with m.If(slot.valid):
            m.d.sync += [
                signs.eq(Cat(sign, self.i[-1])),
                before.eq(
                    (slot.stays & self.overflow) | (slot.returns & raised.bit_select(slot.index, 1))
                ),
            ]
        with m.If(ended.valid):
            m.d.sync += raised.bit_select(ended.index, 1).eq(self.overflow)
