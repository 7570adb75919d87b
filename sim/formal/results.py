"""Results of tiles: no word waits for a sum that can only come once the word has left."""

from amaranth.hdl import Array, Assert, Assume, Const, Cover, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In

from adagrain.hdl.granularity_unit.results import Results
from adagrain.hdl.rescale import IntegerRescale
from adagrain.models.granularity_unit import row_words
from adagrain.models.interface.precision import INTEGERS, Precision
from adagrain.models.interface.units.granularity_unit import TileRun

from .harness import Proof, always_steady, demand_patience, transfers

__all__ = ["ResultsProof"]

#: What becomes of a run.
_Kind = data.StructLayout({name: TileRun[name].shape for name in ("rows", "scaled", "to")})

#: Most rows of a run, so that kinds change within the depth.
_ROWS = 2

#: Sums of a row: so many that its first word of INT8 is full before the last sum can follow.
_SLICES = IntegerRescale.LATENCY + Precision.INT8.lanes + 1


class ResultsProof(Proof):
    """Runs of any two kinds take turns, whenever results are taken: each row's come, and no more.

    Runs and rows are always there. Nothing depends on what a sum is.
    """

    DEPTH = 24
    FLAT = True
    MUTANT = (
        "hdl/granularity_unit/results.py",
        "rescale.i.ready & begins",
        "rescale.i.ready & rescale.i.p.last",
    )

    def __init__(self) -> None:
        super().__init__({"kinds": In(data.ArrayLayout(_Kind, 2)), "taken": In(1)})

    def build(self, m: Module) -> None:
        m.submodules.results = results = Results(_SLICES, INTEGERS)
        run_number, row_number = Signal(), Signal()  # kinds of the next run, and of the next row
        row = Signal(range(_ROWS))
        given, own = self.kinds[run_number], self.kinds[row_number]
        always_steady(m, self.kinds)
        for kind in self.kinds:
            m.d.comb += [
                Assume((kind.rows >= 1) & (kind.rows <= _ROWS)),
                Assume((kind.to == Precision.INT8) | (kind.to == Precision.INT4)),
            ]
        m.d.comb += [
            *[results.i_run.p[name].eq(given[name]) for name, _ in _Kind],
            results.i.p.index.eq(row),
            results.i_run.valid.eq(1),
            results.i.valid.eq(1),
            results.o.ready.eq(self.taken),
        ]
        with m.If(transfers(results.i_run)):
            m.d.sync += run_number.eq(~run_number)
        with m.If(transfers(results.i)):
            m.d.sync += row.eq(row + 1)
            with m.If(row == own.rows - 1):
                m.d.sync += [row.eq(0), row_number.eq(~row_number)]

        owed = _demand(m, results, Mux(transfers(results.i), _words(own), 0))
        packed, plain = self.kinds
        alone = packed.scaled & ~plain.scaled & (packed.rows == 1)
        m.d.comb += Cover(alone & (row_number == 0) & (owed == _SLICES - 1))


def _demand(m: Module, results: Results, comes: Value) -> Signal:
    """Results for each row, in the time in which a word is filled and rescaled; what is owed."""
    o, owed, waits = results.o, Signal(range(2 * _SLICES)), Signal()
    m.d.sync += [owed.eq(owed + comes - transfers(o)), waits.eq(o.valid & ~o.ready)]
    m.d.comb += [Assert(o.valid | ~waits), Assert(~o.valid | (owed != 0))]
    patience = IntegerRescale.LATENCY + Precision.INT4.lanes + 2
    demand_patience(m, owed != 0, o.valid, cycles=patience)
    return owed


def _words(kind: data.View) -> Value:
    """Results of each row."""
    packed = Array(Const(row_words(_SLICES, precision)) for precision in Precision)
    return Mux(kind.scaled, packed[kind.to], _SLICES)
