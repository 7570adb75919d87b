"""Bugs that are planted in `granularity_unit`."""

from .mutant import Mutant, bench, compiled

__all__ = ["MUTANTS"]

MUTANTS = (
    Mutant(
        "what a skid keeps is lost while nothing new comes",
        "hdl/stream/skid.py",
        "full.eq(self.o.valid & ~self.o.ready)",
        "full.eq(self.i.valid & ~self.o.ready)",
        bench("granularity_unit", "three_slices"),
    ),
    Mutant(
        "terms outlive a reset",
        "hdl/stream/pipeline.py",
        "valid = Signal(stages)",
        "valid = Signal(stages, reset_less=True)",
        bench("granularity_unit", "three_slices"),
    ),
    Mutant(
        "a row begins at the first one's words",
        "hdl/granularity_unit/sequencer.py",
        "self.a_address.eq(run.a_first + row + 1)",
        "self.a_address.eq(run.a_first)",
        bench("granularity_unit", "integers"),
    ),
    Mutant(
        "a precision that was not built is computed in",
        "hdl/granularity_unit/commands.py",
        "with m.If(~built[run.mode] |",
        "with m.If(~built[run.mode] & run.first |",
        compiled("coprocessor", "integers"),
    ),
    Mutant(
        "words are written while a run reads others",
        "hdl/granularity_unit/granularity_unit.py",
        "self.i_words.ready.eq(~self.busy)",
        "self.i_words.ready.eq(1)",
        bench("granularity_unit", "three_slices"),
    ),
    Mutant(
        "a tile's columns come the wrong way round",
        "hdl/granularity_unit/granularity_unit.py",
        "results.i.p.sums[number].word",
        "results.i.p.sums[self._slices - 1 - number].word",
        bench("granularity_unit", "three_slices"),
    ),
    Mutant(
        "each run begins its sums anew",
        "hdl/granularity_unit/sequencer.py",
        "run.first & begins",
        "begins",
        bench("granularity_unit", "one_slice"),
    ),
    Mutant(
        "a run may read past the end of the operands",
        "hdl/granularity_unit/commands.py",
        "(a_end <= operands) & (b_end <= operands)",
        "a_end <= operands",
        compiled("coprocessor", "granular"),
    ),
    Mutant(
        "a sum goes on with other rows",
        "hdl/granularity_unit/commands.py",
        "(under_way.mode == run.mode) & (under_way.rows == run.rows)",
        "(under_way.mode == run.mode)",
        compiled("coprocessor", "granular"),
    ),
    Mutant(
        "results that are not scaled overtake those that are",
        "hdl/granularity_unit/results.py",
        "return rows != 0",
        "return packer.o.valid",
        bench("granularity_unit", "three_slices"),
    ),
    Mutant(
        "all columns are scaled like the first one",
        "hdl/granularity_unit/results.py",
        "Array(self.exponents)[column]",
        "Array(self.exponents)[0]",
        bench("granularity_unit", "three_slices"),
    ),
    Mutant(
        "a run is forgotten before its last row has left",
        "hdl/granularity_unit/results.py",
        "endings.o.ready.eq(comes & is_last)",
        "endings.o.ready.eq(comes)",
        bench("granularity_unit", "one_slice"),
    ),
    Mutant(
        "a row is replaced before it has been sent",
        "hdl/granularity_unit/results.py",
        "self.i.ready.eq(endings.o.valid & ~waits)",
        "self.i.ready.eq(endings.o.valid)",
        bench("granularity_unit", "three_slices"),
    ),
    Mutant(
        "results may become what was not built",
        "hdl/granularity_unit/commands.py",
        "run.scaled & ~built[run.to]",
        "run.scaled & ~built[run.to] & run.first",
        compiled("coprocessor", "integers"),
    ),
    Mutant(
        "exponents are taken whatever their number",
        "hdl/granularity_unit/commands.py",
        "with m.If(length != self._configuration.slices):",
        "with m.If(length == 0):",
        compiled("coprocessor", "granular"),
    ),
    Mutant(
        "packed results are as many as raw ones",
        "hdl/granularity_unit/commands.py",
        "return Mux(run.scaled, packed, slices)",
        "return slices",
        compiled("coprocessor", "granular"),
    ),
)
