"""Mutants of `commands`."""

from .mutant import Mutant, bench, compiled, simulated, tested

__all__ = ["MUTANTS"]

_DEVICE = bench("coprocessor", "tiny_whole")
_DEVICE_COMPILED = compiled("coprocessor", "tiny_whole")
_NARROW = bench("coprocessor", "small")

MUTANTS = (
    Mutant(
        "a reply that waits in the dispatcher is overwritten",
        "hdl/device/dispatcher.py",
        "with m.If(elastic(m, reply, self.o, 1)):",
        "with m.If(elastic(m, reply, self.o, 1) | self.o.valid):",
        simulated("test_commands.py", "replies_that_wait"),
    ),
    Mutant(
        "an answer that waits in its handler is overwritten",
        "hdl/handler/answer.py",
        "            m.d.sync += self.o.payload.eq(o.payload)\n",
        "            m.d.sync += self.o.p.last.eq(o.p.last)\n"
        "        m.d.sync += self.o.p.data.eq(o.p.data)\n",
        simulated("test_commands.py", "halves_of_long_counters"),
    ),
    Mutant(
        "dispatcher leaves a refused payload behind",
        "hdl/device/dispatcher.py",
        "m.d.comb += self.i.ready.eq(~payload_over)",
        "m.d.comb += self.i.ready.eq(0)",
        _DEVICE,
    ),
    Mutant(
        "the last register cannot be read",
        "hdl/device/system.py",
        "outside = wanted.first + wanted.count > _WORDS",
        "outside = wanted.first + wanted.count >= _WORDS",
        _DEVICE_COMPILED,
    ),
    Mutant(
        "the table is read one word too far",
        "hdl/handler/access_commands.py",
        "return (count == 0) | (first + count > self._items)",
        "return (count == 0) | (first + count > self._items + 1)",
        _DEVICE_COMPILED,
    ),
    Mutant(
        "serializer sends the record's bytes in pairs swapped",
        "hdl/stream/records.py",
        "word_select(index, 8)",
        "word_select(index ^ 1, 8)",
        _DEVICE,
    ),
    Mutant(
        "a beat's words leave in the wrong order",
        "hdl/tensor_input/downsizer.py",
        "beat.word_select(part, 32 * self._lanes)",
        "beat.word_select(part ^ (parts - 1), 32 * self._lanes)",
        _NARROW,
    ),
    Mutant(
        "the rest of a beat stays for the next tensor",
        "hdl/tensor_input/tensor_input.py",
        "restart.eq(~active)",
        "restart.eq(0)",
        _NARROW,
    ),
    Mutant(
        "a read that just fills a reply is refused",
        "hdl/handler/access_commands.py",
        "wanted.count * item_size > self._payload",
        "wanted.count * item_size >= self._payload",
        _DEVICE_COMPILED,
    ),
    Mutant(
        "a new session goes on with the pass of the data port",
        "hdl/tensor_input/tensor_pass.py",
        "with m.If(self.handler.hello & self.active):",
        "with m.If(self.handler.hello & self.active & complete):",
        bench("coprocessor", "tiny"),
    ),
    Mutant(
        "a record ends a pass whose tensor has not entered",
        "hdl/tensor_input/tensor_pass.py",
        "self.i.valid & tensor.entered",
        "self.i.valid",
        simulated("test_tensor_pass.py", "early_record"),
    ),
    Mutant(
        "a new session changes the beat that a unit is offered",
        "hdl/tensor_input/tensor_pass.py",
        "with m.If(~self._held):",
        "with m.If(1):",
        simulated("test_tensor_pass.py", "leaves_a_beat"),
    ),
    Mutant(
        "words that cannot be cleared count as progress",
        "hdl/granularity_unit/commands.py",
        "unit.multiplies | loader.busy & loader.o_words.ready",
        "unit.multiplies | loader.busy",
        tested("sim/test_coprocessor.py", "cannot_be_cleared"),
    ),
    Mutant(
        "results that leave slowly are no progress",
        "hdl/device/coprocessor.py",
        "dispatcher.sends.eq(self.o_data.valid & self.o_data.ready)",
        "dispatcher.sends.eq(0)",
        tested("sim/test_coprocessor.py", "leave_slowly"),
    ),
    Mutant(
        "the halves of a long counter are read one after the other",
        "hdl/device/system.py",
        "value.eq(Mux(upper_held, upper, word))",
        "value.eq(word)",
        simulated("test_commands.py", "halves_of_long_counters"),
    ),
    Mutant(
        "a new sum of FP16 is as long as the one before",
        "hdl/granularity_unit/run_commands.py",
        "measured.length.eq(run.words + Mux(run.first, 0, under_way.words))",
        "measured.length.eq(run.words + under_way.words)",
        compiled("coprocessor", "granular"),
    ),
    Mutant(
        "an answer goes on with the bytes of another source",
        "hdl/handler/answer.py",
        "with m.Switch(given.body):",
        "with m.Switch(self.i_status.p.body):",
        _DEVICE_COMPILED,
    ),
    Mutant(
        "a step without updates waits for one",
        "hdl/handler/step_commands.py",
        "with m.If(updates != 0):",
        "with m.If(1):",
        _DEVICE_COMPILED,
    ),
    Mutant(
        "a request behind a new session finds the pass of the old one",
        "hdl/handler/choice.py",
        "inner.i_call.valid.eq(outer.i_call.valid & ~self.hold)",
        "inner.i_call.valid.eq(outer.i_call.valid)",
        compiled("coprocessor", "granular"),
    ),
)
