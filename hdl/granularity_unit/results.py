"""What becomes of sums that have ended: sent as they are, or rescaled and packed."""

from amaranth.hdl import Array, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from adagrain.models.granularity_unit import ROWS
from adagrain.models.precision import WORD
from adagrain.models.records import TileResult, TileRun

from ..float.parts import RESULT_FLAGS
from ..queue import Queue
from ..rescale import Packer, Rescale

__all__ = ["Results", "row_layout"]

#: Runs that may end before the results of the first of them have left.
_RUNS = 4

#: Rows that are being rescaled and packed at the same time, at most.
_INSIDE = Rescale.LATENCY + 2

#: What is kept of a run until its results have left.
_Ending = data.StructLayout(
    {name: TileRun[name].shape for name in ("rows", "mode", "scaled", "to")}
)

#: A sum.
_Sum = data.StructLayout({"word": unsigned(WORD), "flags": RESULT_FLAGS})

#: A sum in its row, and the exponent by which it may be scaled.
_Element = data.StructLayout({**dict(_Sum.members), "exponent": signed(8), "last": unsigned(1)})


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


class Results(wiring.Component):
    """Sends the sums of rows, one after the other.

    Sums of a run that is ``scaled`` go through :class:`~adagrain.hdl.rescale.Rescale` and
    :class:`~adagrain.hdl.rescale.Packer`; those of one that is not wait until these are empty.
    A sum per cycle, latency 0, or that of both units. The rows of a run must come in order, and
    after the run.

    Parameters
    ----------
    slices : int
        Sums of a row.

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
    """

    def __init__(self, slices: int) -> None:
        self._slices = slices
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
        m.submodules.rescale = rescale = Rescale()
        m.submodules.packer = packer = Packer()
        connect(m, rescale.o, packer.i)
        taken = Signal()
        run, is_there = self._run(m)
        arrives = self.i.valid & is_there
        element = self._element(m, taken)
        m.d.comb += [
            *[rescale.i.p[name].eq(element[name]) for name, _ in element.shape()],
            *[rescale.i.p[name].eq(run[name]) for name in ("mode", "to")],
            rescale.i.valid.eq(arrives & run.scaled),
        ]
        with m.If(run.scaled):
            m.d.comb += taken.eq(arrives & rescale.i.ready)
        with m.If(self._inside(m, rescale, packer)):
            m.d.comb += [
                self.o.p.word.eq(packer.o.p.word),
                self.o.p.flags.eq(packer.o.p.flags),
                self.o.valid.eq(packer.o.valid),
                packer.o.ready.eq(self.o.ready),
            ]
        with m.Elif(~run.scaled):
            m.d.comb += [
                self.o.p.word.eq(element.word),
                self.o.p.flags.eq(element.flags),
                self.o.valid.eq(arrives),
                taken.eq(arrives & self.o.ready),
            ]
        return m

    def _run(self, m: Module) -> tuple[data.View, Value]:
        """The run whose rows come, and whether there is one."""
        m.submodules.endings = endings = Queue(_Ending, _RUNS)
        m.d.comb += [
            *[endings.i.p[name].eq(self.i_run.p[name]) for name, _ in _Ending],
            endings.i.valid.eq(self.i_run.valid),
            self.i_run.ready.eq(endings.i.ready),
            endings.o.ready.eq(self.i.ready & (self.i.p.index == endings.o.p.rows - 1)),
        ]
        return endings.o.p, endings.o.valid

    def _element(self, m: Module, taken: Value) -> data.View:
        """A row's next sum, with its exponent."""
        column = Signal(range(max(2, self._slices)))
        element = Signal(_Element)
        m.d.comb += [
            *[element[name].eq(self.i.p.sums[column][name]) for name, _ in _Sum],
            element.exponent.eq(Array(self.exponents)[column]),
            element.last.eq(column == self._slices - 1),
            self.i.ready.eq(taken & element.last),
        ]
        with m.If(taken):
            m.d.sync += column.eq(Mux(element.last, 0, column + 1))
        return element

    def _inside(self, m: Module, rescale: Rescale, packer: Packer) -> Value:
        """Rows are being rescaled and packed."""
        rows = Signal(range(_INSIDE + 1))
        enters = rescale.i.valid & rescale.i.ready & rescale.i.p.last
        leaves = packer.o.valid & packer.o.ready & packer.o.p.last
        m.d.sync += rows.eq(rows + enters - leaves)
        return rows != 0
