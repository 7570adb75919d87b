"""Mutants of `uart`."""

from .mutant import Mutant, bench

__all__ = ["MUTANTS"]

_UART = bench("uart", "odd")

MUTANTS = (
    Mutant(
        "receiver samples a bit at its edge",
        "hdl/uart/receiver.py",
        "half = 1 << (ACCUMULATOR_BITS - 1)",
        "half = (1 << ACCUMULATOR_BITS) - 1",
        _UART,
    ),
    Mutant(
        "receiver takes a glitch for a start bit",
        "hdl/uart/receiver.py",
        "with m.If((count == 0) & self.rx):",
        "with m.If((count == 1) & self.rx & (bits == 1)):",
        _UART,
    ),
    Mutant(
        "receiver ignores a missing stop bit",
        "hdl/uart/receiver.py",
        'self._count(m, "framing_errors")\n',
        "pass\n",
        _UART,
    ),
    Mutant(
        "receiver overwrites a byte that waits",
        "hdl/uart/receiver.py",
        "with m.Elif(self.o.valid & ~self.o.ready):",
        "with m.Elif(self.o.valid & ~self.o.ready & self.is_break):",
        _UART,
    ),
    Mutant(
        "break is noticed too early",
        "hdl/uart/receiver.py",
        "BREAK_BITS = 2 * FRAME_BITS",
        "BREAK_BITS = FRAME_BITS - 1",
        _UART,
    ),
    Mutant(
        "a byte that comes as the one before is taken is lost",
        "hdl/uart/receiver.py",
        "with m.Elif(self.o.valid & ~self.o.ready):",
        "with m.Elif(self.o.valid):",
        _UART,
    ),
)
