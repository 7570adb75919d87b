"""Bugs that are planted in `commands`."""

from .mutant import Mutant, bench, compiled, simulated

__all__ = ["MUTANTS"]

_DEVICE = bench("coprocessor", "tiny_whole")
_DEVICE_COMPILED = compiled("coprocessor", "tiny_whole")
_NARROW = bench("coprocessor", "small")

MUTANTS = (
    Mutant(
        "a reply that waits in the dispatcher is overwritten",
        "hdl/commands/dispatcher.py",
        "with m.If(stallable(m, reply, self.o, 1)):",
        "with m.If(stallable(m, reply, self.o, 1) | self.o.valid):",
        simulated("test_commands.py", "replies_that_wait"),
    ),
    Mutant(
        "dispatcher leaves a refused payload behind",
        "hdl/commands/dispatcher.py",
        "m.d.comb += self.i.ready.eq(~payload_over)",
        "m.d.comb += self.i.ready.eq(0)",
        _DEVICE,
    ),
    Mutant(
        "the last register cannot be read",
        "hdl/commands/system.py",
        "wanted.first + wanted.count > len(REGISTERS)",
        "wanted.first + wanted.count >= len(REGISTERS)",
        _DEVICE_COMPILED,
    ),
    Mutant(
        "the table is read one word too far",
        "hdl/commands/table.py",
        "return (count == 0) | (first + count > self._entries)",
        "return (count == 0) | (first + count > self._entries + 1)",
        _DEVICE_COMPILED,
    ),
    Mutant(
        "serializer sends the record's octets in pairs swapped",
        "hdl/commands/serial.py",
        "word_select(index, 8)",
        "word_select(index ^ 1, 8)",
        _DEVICE,
    ),
    Mutant(
        "a group's words leave in the wrong order",
        "hdl/narrow.py",
        "group.word_select(part, 32 * self._lanes)",
        "group.word_select(part ^ (parts - 1), 32 * self._lanes)",
        _NARROW,
    ),
    Mutant(
        "the rest of a group stays for the next tensor",
        "hdl/statistics_pass.py",
        "narrow.o.ready.eq(widen.i.ready | complete)",
        "narrow.o.ready.eq(widen.i.ready)",
        _NARROW,
    ),
)
