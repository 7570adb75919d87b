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

    One integer per cycle. The sum that grows is in a register, from which all go into a memory that
    is read synchronously, as an FPGA without any other has it. The slot comes a cycle before its
    integer, and the sum a cycle after this. No back-pressure; no slot may return to the sum of the
    slot two cycles before, which is on its way into the memory.

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
        slot, ended = later(m, self.slot, 1), later(m, self.slot, 2)
        value = Signal(INTEGER_BITS)
        m.d.comb += value.eq(Mux(slot.stays, self.o, self._stored(m, ended)))
        with m.If(slot.valid):
            m.d.sync += self.o.eq(value.as_signed() + self.i)
        self._tell(m, slot, ended, value[-1])
        return m

    def _stored(self, m: Module, ended: data.View) -> Value:
        """The number in the memory, to which a sum goes a cycle after it has grown.

        The adder is the unit's longest path, and ends in its register. What is read is not what is
        written.
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
            write.addr.eq(ended.index),
            write.data.eq(self.o),
            write.en.eq(ended.valid),
        ]
        return stored

    def _tell(self, m: Module, slot: data.View, ended: data.View, sign: Value) -> None:
        """Tell that the sum has wrapped around; a 33rd bit of the memory would be a block RAM."""
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
