"""The bugs that are planted: what a tired engineer might write."""

from dataclasses import dataclass

__all__ = ["MUTANTS", "Mutant"]


@dataclass(frozen=True)
class Mutant:
    """A bug, and what must find it.

    Parameters
    ----------
    name : str
        What is wrong.
    file : str
        Where, below the project.
    text, wrong : str
        What stands there, once, and what is put in its place.
    command : tuple of str
        Python module and arguments that must fail.
    """

    name: str
    file: str
    text: str
    wrong: str
    command: tuple[str, ...]


def _bench(unit: str, variant: str) -> tuple[str, ...]:
    return ("adagrain.sim", unit, "--variant", variant)


def _compiled(unit: str, variant: str) -> tuple[str, ...]:
    test = f"tests/sim/test_{unit}.py"
    return ("pytest", "-q", "-x", "-p", "no:cacheprovider", "-n", "0", test, "-k", variant)


_LINK = _bench("link", "tiny")
_UART = _bench("uart", "odd")
_STATISTICS = _bench("statistics", "small")
_REGIONS = _bench("region_manager", "tiny")
_DEVICE = _bench("coprocessor", "tiny_whole")
_DEVICE_COMPILED = _compiled("coprocessor", "tiny_whole")
_NARROW = _bench("coprocessor", "small")

MUTANTS: tuple[Mutant, ...] = (
    # uart
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
        "receiver overwrites an octet that waits",
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
    # link
    Mutant(
        "decoder loses the zero between blocks",
        "hdl/link/cobs_decoder.py",
        "self.o.valid.eq(zero_owed),",
        "self.o.valid.eq(zero_owed & started & (octet != 1)),",
        _LINK,
    ),
    Mutant(
        "decoder owes a zero after a full block",
        "hdl/link/cobs_decoder.py",
        "zero_owed.eq(octet != FULL_BLOCK),",
        "zero_owed.eq(1),",
        _LINK,
    ),
    Mutant(
        "decoder keeps a block over a delimiter",
        "hdl/link/cobs_decoder.py",
        "                        remaining.eq(0),\n                        zero_owed.eq(0),",
        "                        zero_owed.eq(0),",
        _LINK,
    ),
    Mutant(
        "encoder writes an empty block after a full one",
        "hdl/link/cobs_encoder.py",
        "(filled == LONGEST_BLOCK - 1)",
        "(filled == LONGEST_BLOCK)",
        _LINK,
    ),
    Mutant(
        "checksum is not looked at",
        "hdl/link/frame_checker.py",
        "with m.Elif(~crc.match_detected):",
        "with m.Elif(~crc.match_detected & too_long):",
        _LINK,
    ),
    Mutant(
        "checksum is not started anew",
        "hdl/link/frame_checker.py",
        "crc.start.eq(self.i.valid & self.i.ready & self.i.p.end)",
        "crc.start.eq(self.i.valid & self.i.ready & self.i.p.end & ~self.i.p.damaged)",
        _LINK,
    ),
    Mutant(
        "a frame one octet too long passes",
        "hdl/link/frame_checker.py",
        "self._longest = HEADER_SIZE + payload + CHECKSUM_SIZE\n",
        "self._longest = HEADER_SIZE + payload + CHECKSUM_SIZE + 1\n",
        _LINK,
    ),
    Mutant(
        "dropped octets stay in the packet queue",
        "hdl/link/packet_queue.py",
        "tail.eq(next_head + 1)",
        "tail.eq(tail + 1)",
        _LINK,
    ),
    Mutant(
        "a repeat is executed again",
        "hdl/link/session.py",
        "with m.If((age != 0) & (age <= kept)):",
        "with m.If((age != 0) & (age < kept)):",
        _LINK,
    ),
    Mutant(
        "a new session remembers the old one's replies",
        "hdl/link/session.py",
        "expected.eq(0), kept.eq(0)]",
        "expected.eq(0)]",
        _LINK,
    ),
    Mutant(
        "a reply's slot is written while it is sent",
        "hdl/link/session.py",
        "slot_free.eq(self.o.ready | (slot != slot_sent))",
        "slot_free.eq(1)",
        _bench("link", "single"),
    ),
    Mutant(
        "a refusal does not say what is expected",
        "hdl/link/session.py",
        "                m.d.sync += header.sequence.eq(expected)\n",
        "",
        _LINK,
    ),
    # commands
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
    # float
    Mutant(
        "a tie rounds away from zero",
        "hdl/float/round.py",
        "guard & (rest[:-1].any() | kept[0])",
        "guard",
        _bench("float", "multiply_fp16"),
    ),
    Mutant(
        "underflow is told before rounding",
        "hdl/float/round.py",
        "tiny = ~kept[-1] & ~becomes_normal",
        "tiny = ~kept[-1]",
        _compiled("float", "multiply_fp16"),
    ),
    Mutant(
        "what is shifted out of a summand is forgotten",
        "hdl/float/sum.py",
        "wide[width] | wide[:width].any()",
        "wide[width]",
        _bench("float", "add_fp16"),
    ),
    Mutant(
        "a difference of equal numbers keeps its sign",
        "hdl/float/sum.py",
        "(magnitude == 0))),",
        "(magnitude != magnitude))),",
        _bench("float", "add_fp32"),
    ),
    Mutant(
        "infinity times zero is infinity",
        "hdl/float/product.py",
        "product.nan.eq(x.nan | y.nan | undefined)",
        "product.nan.eq(x.nan | y.nan)",
        _bench("float", "multiply_fp32"),
    ),
    # slice
    Mutant(
        "what an INT4 product borrowed from its upper neighbour is not given back",
        "hdl/slice/products.py",
        "field + part[lane][FIELD - 1]",
        "field",
        _bench("slice", "all_modes"),
    ),
    Mutant(
        "FP32's halves are multiplied crosswise only once",
        "hdl/slice/products.py",
        "part[1][: 2 * _HALF] + part[2][: 2 * _HALF]",
        "part[1][: 2 * _HALF] + part[1][: 2 * _HALF]",
        _bench("slice", "all_modes"),
    ),
    Mutant(
        "the mode of the words behind decides what is taken from a multiplier",
        "hdl/slice/products.py",
        "delayed(m, self.mode, Products.LATENCY)",
        "delayed(m, self.mode, Products.LATENCY - 1)",
        _bench("slice", "all_modes"),
    ),
    Mutant(
        "flags of FP16's second lane are those of the first",
        "hdl/slice/slice.py",
        "self.o.p.flags[lane].eq(number.flags)",
        "self.o.p.flags[lane].eq(numbers[0].flags)",
        _bench("slice", "all_modes"),
    ),
    # dot_product
    Mutant(
        "a sum is used again a cycle too early",
        "hdl/dot_product/dot_product.py",
        "range(self.LOOP - 1)",
        "range(self.LOOP - 2)",
        _bench("dot_product", "two_sums"),
    ),
    Mutant(
        "a sum begins with what the last one left",
        "hdl/dot_product/accumulator.py",
        "Mux(step.first, 0, found)",
        "found",
        _bench("dot_product", "eight_sums"),
    ),
    Mutant(
        "what FP16's sum holds below the guard is forgotten",
        "hdl/dot_product/exact.py",
        "Cat(magnitude[:_GUARD].any(), magnitude[_GUARD:_TOP])",
        "Cat(magnitude[0], magnitude[_GUARD:_TOP])",
        _compiled("dot_product", "sums_of_all"),
    ),
    Mutant(
        "infinities of both signs are a positive one",
        "hdl/dot_product/exact.py",
        "exact.nan.eq(seen.nan | opposed)",
        "exact.nan.eq(seen.nan)",
        _bench("dot_product", "eight_sums"),
    ),
    Mutant(
        "a sum of integers forgets that it has wrapped around",
        "hdl/dot_product/integers.py",
        "overflow = before[INTEGER_BITS] | wraps",
        "overflow = wraps",
        _compiled("dot_product", "wrap"),
    ),
    Mutant(
        "flags of a sum of FP32 are those of its last term",
        "hdl/dot_product/floats.py",
        "flags.read(last) | raised",
        "raised",
        _bench("dot_product", "eight_sums"),
    ),
    Mutant(
        "an upper number of INT4 is added to INT8's products",
        "hdl/dot_product/product_sum.py",
        "m.d.comb += upper.a[lane].eq(0)",
        "m.d.comb += upper.a[lane].eq(upper.b[lane][0])",
        _bench("dot_product", "two_of_integers"),
    ),
    Mutant(
        "a lower number of INT4 has no sign",
        "hdl/dot_product/product_sum.py",
        "sign = low[-1].replicate(len(high))",
        "sign = (low[-1] & ~low[-1]).replicate(len(high))",
        _bench("dot_product", "two_of_integers"),
    ),
    Mutant(
        "a sum begins with what is in the memory",
        "hdl/dot_product/integer_dot_product.py",
        "turn.returns.eq(~same & ~self.i.p.first)",
        "turn.returns.eq(~same)",
        _bench("dot_product", "eight_of_integers"),
    ),
    Mutant(
        "a sum is another one's if nothing came in between",
        "hdl/dot_product/integer_dot_product.py",
        "        with m.If(taken):\n            m.d.sync += index",
        "        if True:\n            m.d.sync += index",
        _bench("dot_product", "eight_of_integers"),
    ),
    Mutant(
        "a sum in the memory forgets that it has wrapped around",
        "hdl/dot_product/running_sum.py",
        "turn.returns & raised.bit_select(turn.index, 1)",
        "turn.returns & raised.bit_select(turn.index, 1) & turn.stays",
        _compiled("dot_product", "tells_it_at_its_end"),
    ),
    Mutant(
        "a sum is told to have wrapped around by its sign alone",
        "hdl/dot_product/running_sum.py",
        "wraps = (signs[0] == signs[1]) & (self.o[-1] != signs[0])",
        "wraps = self.o[-1] != signs[0]",
        _compiled("dot_product", "sums_of_integers"),
    ),
    # granularity_unit
    Mutant(
        "a row begins at the first one's words",
        "hdl/granularity_unit/sequencer.py",
        "self.a_address.eq(run.a_first + row + 1)",
        "self.a_address.eq(run.a_first)",
        _bench("granularity_unit", "integers"),
    ),
    Mutant(
        "a precision that was not built is computed in",
        "hdl/commands/tiles.py",
        "with m.If(~built[run.mode]):",
        "with m.If(~built[run.mode] & run.first):",
        _compiled("coprocessor", "integers"),
    ),
    Mutant(
        "words are written while a run reads others",
        "hdl/granularity_unit/granularity_unit.py",
        "self.i_words.ready.eq(~self.busy)",
        "self.i_words.ready.eq(1)",
        _bench("granularity_unit", "three_slices"),
    ),
    Mutant(
        "a tile's columns come the wrong way round",
        "hdl/granularity_unit/granularity_unit.py",
        "results.i.p.sums[number].word",
        "results.i.p.sums[self._slices - 1 - number].word",
        _bench("granularity_unit", "three_slices"),
    ),
    Mutant(
        "each run begins its sums anew",
        "hdl/granularity_unit/sequencer.py",
        "run.first & begins",
        "begins",
        _bench("granularity_unit", "one_slice"),
    ),
    Mutant(
        "a run may read past the end of the operands",
        "hdl/commands/tiles.py",
        "(a_end <= operands) & (b_end <= operands)",
        "a_end <= operands",
        _compiled("coprocessor", "granular"),
    ),
    Mutant(
        "a sum goes on with other rows",
        "hdl/commands/tiles.py",
        "(under_way.mode == run.mode) & (under_way.rows == run.rows)",
        "(under_way.mode == run.mode)",
        _compiled("coprocessor", "granular"),
    ),
    Mutant(
        "results that are not scaled overtake those that are",
        "hdl/granularity_unit/results.py",
        "return rows != 0",
        "return packer.o.valid",
        _bench("granularity_unit", "three_slices"),
    ),
    Mutant(
        "all columns are scaled like the first one",
        "hdl/granularity_unit/results.py",
        "Array(self.exponents)[column]",
        "Array(self.exponents)[0]",
        _bench("granularity_unit", "three_slices"),
    ),
    Mutant(
        "a run is forgotten before its last row has left",
        "hdl/granularity_unit/results.py",
        "self.i.ready & (self.i.p.index == endings.o.p.rows - 1)",
        "self.i.ready",
        _bench("granularity_unit", "one_slice"),
    ),
    Mutant(
        "exponents are taken whatever their number",
        "hdl/commands/tiles.py",
        "with m.If(length != self._configuration.slices):",
        "with m.If(length == 0):",
        _compiled("coprocessor", "granular"),
    ),
    Mutant(
        "packed results are as many as raw ones",
        "hdl/commands/tiles.py",
        "return Mux(run.scaled, packed, slices)",
        "return slices",
        _compiled("coprocessor", "granular"),
    ),
    # rescale
    Mutant(
        "what is shifted out is forgotten",
        "hdl/rescale/align.py",
        "Cat(left[0] | lost, left[1:REST])",
        "left[:REST]",
        _bench("rescale", "numbers"),
    ),
    Mutant(
        "a sum that is zero has an exponent",
        "hdl/rescale/align.py",
        "Mux((above < 0) | nothing, 0, above)",
        "Mux(above < 0, 0, above)",
        _bench("rescale", "numbers"),
    ),
    Mutant(
        "what is shifted beyond the word comes round",
        "hdl/rescale/align.py",
        "gone.eq(goes <= -WORD)",
        "gone.eq(0)",
        _bench("rescale", "numbers"),
    ),
    Mutant(
        "halves are rounded up",
        "hdl/rescale/rescale.py",
        "(rest[:-1].any() | kept[0])",
        "(rest[:-1].any() | 1)",
        _bench("rescale", "numbers"),
    ),
    Mutant(
        "underflow is raised where rounding makes a number normal",
        "hdl/rescale/rescale.py",
        "inexact & ~kept[places] & ~becomes_normal",
        "inexact & ~kept[places]",
        _compiled("rescale", "numbers"),
    ),
    Mutant(
        "an integer that is rounded beyond the last one is not clamped",
        "hdl/rescale/rescale.py",
        "raised.any() | rounded[top.bit_length()] | passing.infinite",
        "raised.any() | passing.infinite",
        _bench("rescale", "numbers"),
    ),
    Mutant(
        "the flags of a sum are lost",
        "hdl/rescale/rescale.py",
        "Value.cast(flags) | Value.cast(passing.flags)",
        "flags",
        _bench("rescale", "numbers"),
    ),
    Mutant(
        "the rest of a row's last word is that of the word before",
        "hdl/rescale/packer.py",
        "Mux(is_first, 0, self.o.p.word)",
        "self.o.p.word",
        _bench("rescale", "rows"),
    ),
    Mutant(
        "a row goes on in the word of the one before",
        "hdl/rescale/packer.py",
        "with m.If(self.i.p.last):",
        "with m.If(self.i.p.last & full):",
        _bench("rescale", "rows"),
    ),
    # precision_controller
    Mutant(
        "a threshold is passed without hysteresis downwards",
        "hdl/precision_controller/precision_controller.py",
        "spread + record.hysteresis >= t",
        "spread >= t",
        _bench("precision_controller", "many_units"),
    ),
    Mutant(
        "a spread at the threshold is above it",
        "hdl/precision_controller/precision_controller.py",
        "spread > t + record.hysteresis",
        "spread >= t + record.hysteresis",
        _bench("precision_controller", "many_units"),
    ),
    Mutant(
        "a change does not last",
        "hdl/precision_controller/precision_controller.py",
        "Mux(switched, record.dwell_length, record.dwell - record.dwell.any())",
        "record.dwell - record.dwell.any()",
        _bench("precision_controller", "many_units"),
    ),
    Mutant(
        "the ceiling prevails over the floor only from below",
        "hdl/precision_controller/precision_controller.py",
        "Mux(raised > high, high, raised)",
        "Mux(value > high, high, raised)",
        _bench("precision_controller", "many_units"),
    ),
    Mutant(
        "records may be written past the table's end",
        "hdl/commands/table.py",
        "self._outside(first, self.left)",
        "self._outside(first, 1)",
        _compiled("coprocessor", "granular"),
    ),
    # statistics
    Mutant(
        "rounding goes up from the middle",
        "hdl/statistics/quantise.py",
        "(guard & (sticky | kept[0]))",
        "guard",
        _STATISTICS,
    ),
    Mutant(
        "what falls out of the shift is forgotten",
        "hdl/statistics/quantise.py",
        "lost.eq(wide[:15].any()),",
        "lost.eq(0),",
        _STATISTICS,
    ),
    Mutant(
        "a large number of the other sign is clamped wrongly",
        "hdl/statistics/quantise.py",
        "Mux(negative_2, -magnitude, magnitude)",
        "Mux(negative_2 & ~clamped, -magnitude, magnitude)",
        _STATISTICS,
    ),
    Mutant(
        "minimum of negative numbers is turned round",
        "hdl/statistics/extremes.py",
        "Mux(word[31], ~word, word | 0x8000_0000)",
        "Mux(word[31], word ^ 0x8000_0000, word | 0x8000_0000)",
        _STATISTICS,
    ),
    Mutant(
        "infinities count as finite",
        "hdl/statistics/extremes.py",
        "self.present[lane] & (word[23:31] != 255)",
        "self.present[lane]",
        _STATISTICS,
    ),
    Mutant(
        "histogram forgets that a bin was just written",
        "hdl/statistics/histogram.py",
        "bins.read_port(transparent_for=(write,))",
        "bins.read_port()",
        _STATISTICS,
    ),
    Mutant(
        "histogram's rest grows a binade late",
        "hdl/statistics/histogram.py",
        "grows = ~number[0] & (number > 2)",
        "grows = number[0] & (number > 2)",
        _STATISTICS,
    ),
    Mutant(
        "histogram is not cleared after a reset",
        "hdl/statistics/histogram.py",
        "sweeping = Signal(init=1)",
        "sweeping = Signal(init=0)",
        _STATISTICS,
    ),
    Mutant(
        "halves of a word are swapped",
        "hdl/statistics/widen.py",
        "half = Mux(second, words",
        "half = Mux(~second, words",
        _STATISTICS,
    ),
    Mutant(
        "a subnormal half becomes a normal number",
        "hdl/statistics/widen.py",
        "exponent.eq(127 - bias + 1 - shift)",
        "exponent.eq(127 - bias - shift)",
        _STATISTICS,
    ),
    Mutant(
        "the last accumulators are read before they are done",
        "hdl/statistics/statistics.py",
        "max(Counts.LATENCY, PowerSums.LATENCY) + 1",
        "0",
        _STATISTICS,
    ),
    # region_manager
    Mutant(
        "the quotient's last bits are missing",
        "hdl/region_manager/ratio.py",
        "trial.eq((rest << 1) - divisor)",
        "trial.eq((rest << 1) - divisor - 1)",
        _REGIONS,
    ),
    Mutant(
        "a word decays with the wrong shift",
        "hdl/region_manager/words.py",
        'Word.N_SLOW: ("n", 6),',
        'Word.N_SLOW: ("n", 4),',
        _REGIONS,
    ),
    Mutant(
        "the fast average is not brought to the slow one's bits",
        "hdl/region_manager/words.py",
        "right.eq(_HEADROOM + excess - Mux(_is_fast(coming.word), _FAST, 0))",
        "right.eq(_HEADROOM + excess)",
        _REGIONS,
    ),
    Mutant(
        "sums are not halved where they are crowded",
        "hdl/region_manager/words.py",
        "2 * self.rescale + (self.halve & is_sum)",
        "2 * self.rescale",
        _REGIONS,
    ),
    Mutant(
        "gain is weighed the wrong way round",
        "hdl/region_manager/judge.py",
        "b.eq(7 - self.confidence)",
        "b.eq(self.confidence)",
        _REGIONS,
    ),
    Mutant(
        "noise counts as quiet at any quarter",
        "hdl/region_manager/judge.py",
        "m.d.comb += scaled.eq(held << 10)",
        "m.d.comb += scaled.eq(held << 9)",
        _compiled("region_manager", "tiny"),
    ),
    Mutant(
        "a dwell is an epoch too short",
        "hdl/region_manager/speculation.py",
        "settled = record.dwell == 0",
        "settled = record.dwell <= 1",
        _REGIONS,
    ),
    Mutant(
        "confidence goes below zero",
        "hdl/region_manager/manager.py",
        "Mux(confidence < 2, 0, confidence - 2)",
        "Mux(confidence < 1, 0, confidence - 2)",
        _REGIONS,
    ),
    Mutant(
        "the loss guard does not reset the noise's samples",
        "hdl/region_manager/cadence.py",
        "self.choice.samples.eq(0),\n                        self.choice.cadence",
        "self.choice.cadence",
        _REGIONS,
    ),
    Mutant(
        "cadence leaves its bounds",
        "hdl/region_manager/cadence.py",
        "with m.If(self.record.cadence < self.record.cadence_max):",
        "with m.If(self.record.cadence <= self.record.cadence_max):",
        _REGIONS,
    ),
    Mutant(
        "the epoch counter wraps",
        "hdl/region_manager/manager.py",
        "with m.If(step.epoch_end & (run.epoch != 65535)):",
        "with m.If(step.epoch_end):",
        _REGIONS,
    ),
    Mutant(
        "an update of an unconfigured region is taken",
        "hdl/region_manager/manager.py",
        "with m.Elif(~record.valid):",
        "with m.Elif(~record.valid & record.scaled):",
        _REGIONS,
    ),
)
