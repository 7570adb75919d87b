"""Results of sums that have ended: sent as they are, or rescaled and packed."""

from amaranth.hdl import Array, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from adagrain.hdl.arithmetic.float.operand import RESULT_FLAGS
from adagrain.hdl.rescale import IntegerRescale, Packer, Rescale
from adagrain.hdl.stream.queue import Queue
from adagrain.models.granularity_unit import row_words
from adagrain.models.interface.precision import INTEGERS, WORD_BITS, Precision, check_precisions
from adagrain.models.interface.units.granularity_unit import ROWS, TileResult, TileRun

from .operands import check_slices

__all__ = ["RUNS", "Results", "row_layout", "row_results"]

#: Runs that may end before the results of the first of them have left.
RUNS = 4

#: What is kept of a run until its results have left.
_Ending = data.StructLayout(
    {name: TileRun[name].shape for name in ("rows", "mode", "scaled", "to")}
)

#: A sum.
_Sum = data.StructLayout({"word": unsigned(WORD_BITS), "flags": RESULT_FLAGS})

#: A sum in its row, and the exponent by which it may be scaled.
_Element = data.StructLayout(
    {**dict(_Sum.members), "exponent": signed(8), "first": unsigned(1), "last": unsigned(1)}
)


def row_layout(slices: int) -> data.StructLayout:
    """Sums of a row.

    Members
    -------
    index : ``range(8)``
        The row.
    sums : ``ArrayLayout(..., slices)``
        ``word`` and ``flags`` of each.
    """
    return data.StructLayout({"index": range(ROWS), "sums": data.ArrayLayout(_Sum, slices)})


def row_results(run: data.View, slices: int) -> Value:
    """Results of each row of a run on so many slices."""
    packed = Array(row_words(slices, precision) for precision in Precision)[run.to]
    return Mux(run.scaled, packed, slices)


def _sent_layout(slices: int) -> data.StructLayout:
    """A row that is being sent, and what becomes of it."""
    fields = {name: _Ending[name].shape for name in ("mode", "scaled", "to")}
    return data.StructLayout({"sums": data.ArrayLayout(_Sum, slices), **fields})


class Results(wiring.Component):
    """Sends the sums of rows, one after the other.

    Sums of a run that is ``scaled`` go through :class:`~adagrain.hdl.rescale.Rescale`, or
    with integers alone :class:`~adagrain.hdl.rescale.IntegerRescale`, and
    :class:`~adagrain.hdl.rescale.Packer`; those of one that is not wait until these are empty.
    A sum per cycle and a cycle between rows, latency 1, and that of both units. ``i.ready`` comes
    from a register: the slices need not wait for a decision here. The rows of a run must come in
    order, and after the run.

    Parameters
    ----------
    slices : int
        Sums of a row.
    precisions : tuple of Precision
        Of the sums, and of what becomes of them.

    Members
    -------
    i_run : ``In(stream.Signature(TileRun))``
        Runs that end sums; four may wait.
    exponents : ``In(signed(8)).array(slices)``
        By which each slice's sums are scaled; stable while rows of such a run come.
    i : ``In(stream.Signature(row_layout(slices)))``
        Rows.
    o : ``Out(stream.Signature(TileResult))``
        Sums, or packed words.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, slices: int, precisions: tuple[Precision, ...]) -> None:
        check_slices(slices)
        check_precisions(precisions)
        self._slices, self._precisions = slices, precisions
        super().__init__(
            {
                "i_run": In(stream.Signature(TileRun)),
                "exponents": In(signed(8)).array(slices),
                "i": In(stream.Signature(row_layout(slices))),
                "o": Out(stream.Signature(TileResult)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rescale = IntegerRescale() if self._precisions == INTEGERS else Rescale()
        m.submodules.rescale = rescale
        m.submodules.packer = packer = Packer(self._precisions)
        connect(m, rescale.o, packer.i)
        taken, ends = Signal(), Signal()  # a sum, and the last one of a row
        row, waits = self._row(m, ends)
        element = self._element(m, row.sums, taken)
        m.d.comb += ends.eq(taken & element.last)
        m.d.comb += [
            *[rescale.i.p[name].eq(element[name]) for name in (*_Sum.members, "exponent", "last")],
            *[rescale.i.p[name].eq(row[name]) for name in ("mode", "to")],
            rescale.i.valid.eq(waits & row.scaled),
        ]
        with m.If(row.scaled):
            m.d.comb += taken.eq(waits & rescale.i.ready)
        with m.If(self._inside(m, rescale, packer, element.first)):
            m.d.comb += [
                self.o.p.word.eq(packer.o.p.word),
                self.o.p.flags.eq(packer.o.p.flags),
                self.o.valid.eq(packer.o.valid),
                packer.o.ready.eq(self.o.ready),
            ]
        with m.Elif(~row.scaled):
            m.d.comb += [
                self.o.p.word.eq(element.word),
                self.o.p.flags.eq(element.flags),
                self.o.valid.eq(waits),
                taken.eq(waits & self.o.ready),
            ]
        return m

    def _row(self, m: Module, ends: Value) -> tuple[data.View, Signal]:
        """The row that is being sent, with what becomes of it, and whether there is one."""
        m.submodules.endings = endings = Queue(_Ending, RUNS)
        run, is_last = endings.o.p, self.i.p.index == endings.o.p.rows - 1
        row, waits = Signal(_sent_layout(self._slices), reset_less=True), Signal()
        comes = self.i.valid & self.i.ready
        m.d.comb += [
            *[endings.i.p[name].eq(self.i_run.p[name]) for name, _ in _Ending],
            endings.i.valid.eq(self.i_run.valid),
            self.i_run.ready.eq(endings.i.ready),
            self.i.ready.eq(endings.o.valid & ~waits),
            endings.o.ready.eq(comes & is_last),
        ]
        with m.If(comes):
            m.d.sync += [
                row.sums.eq(self.i.p.sums),
                *[row[name].eq(run[name]) for name in ("mode", "scaled", "to")],
                waits.eq(1),
            ]
        with m.If(ends):
            m.d.sync += waits.eq(0)
        return row, waits

    def _element(self, m: Module, sums: data.View, taken: Value) -> data.View:
        """A row's next sum, with its exponent."""
        column = Signal(range(max(2, self._slices)))
        element = Signal(_Element)
        m.d.comb += [
            *[element[name].eq(sums[column][name]) for name, _ in _Sum],
            element.exponent.eq(Array(self.exponents)[column]),
            element.first.eq(column == 0),
            element.last.eq(column == self._slices - 1),
        ]
        with m.If(taken):
            m.d.sync += column.eq(Mux(element.last, 0, column + 1))
        return element

    def _inside(
        self, m: Module, rescale: Rescale | IntegerRescale, packer: Packer, begins: Value
    ) -> Value:
        """Rows are being rescaled and packed, from their first sum to their last word.

        The last sum may have to wait until the first word has left.
        """
        rows = Signal(range(rescale.LATENCY + 2))  # a number each, and one in the packer
        enters = rescale.i.valid & rescale.i.ready & begins
        leaves = packer.o.valid & packer.o.ready & packer.o.p.last
        m.d.sync += rows.eq(rows + enters - leaves)
        return rows != 0
