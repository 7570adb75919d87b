"""Memory, steps and checks that the accumulators of all precisions share."""

from amaranth.hdl import Module, Mux, Shape, Signal, Value, unsigned
from amaranth.lib import data, memory
from amaranth.lib.data import ShapeLike

from adagrain.hdl.checks import check_integer
from adagrain.hdl.stream.delay import delayed

__all__ = ["AccumulatorMemory", "check_entries", "index_shape", "later", "step_layout"]


def check_entries(entries: int) -> None:
    """Make sure that there are enough sums to tell them by a number: at least 2.

    Raises
    ------
    TypeError, ValueError
        If there are not.
    """
    check_integer("entries", entries, 2)


def index_shape(entries: int) -> Shape:
    """Shape of a sum's number."""
    return unsigned((entries - 1).bit_length())


def step_layout(entries: int) -> data.StructLayout:
    """The sum that a product belongs to.

    Members
    -------
    valid : ``unsigned(1)``
        There is a product.
    index : ``unsigned(...)``
        Number of its sum.
    first : ``unsigned(1)``
        The sum begins with it.
    """
    names = {"valid": unsigned(1), "index": index_shape(entries), "first": unsigned(1)}
    return data.StructLayout(names)


class AccumulatorMemory:
    """A memory of sums, read at one step and written at the same or a later one.

    Parameters
    ----------
    m : Module
        Where it is put.
    shape : ShapeLike
        Shape of a sum.
    entries : int
        Number of sums, at least 2.

    Raises
    ------
    TypeError, ValueError
        If there are fewer.
    """

    def __init__(self, m: Module, shape: ShapeLike, entries: int) -> None:
        check_entries(entries)
        self._m = m
        m.submodules += (sums := memory.Memory(shape=shape, depth=entries, init=[]))
        self._write, self._read = sums.write_port(), sums.read_port(domain="comb")

    def read(self, step: data.View) -> Value:
        """The sum so far, 0 where it begins."""
        self._m.d.comb += self._read.addr.eq(step.index)
        found = Value.cast(self._read.data)
        return Mux(step.first, 0, found)

    def write(self, step: data.View, value: Value) -> None:
        """Replace the sum."""
        self._m.d.comb += [
            self._write.addr.eq(step.index),
            self._write.data.eq(value),
            self._write.en.eq(step.valid),
        ]


def later(m: Module, step: data.View, cycles: int) -> data.View:
    """A step some cycles later; after reset none is valid."""
    for _ in range(cycles):
        valid, behind = Signal(name="step_valid"), Signal.like(step, name="step")
        m.d.sync += valid.eq(step.valid)
        m.d.comb += [behind.eq(delayed(m, step.as_value(), 1)), behind.valid.eq(valid)]
        step = behind
    return step
