"""Mutants of the encoder's handler: tables, passes, blocks that leave."""

from .mutant import Mutant, bench, compiled

__all__ = ["MUTANTS"]

_CODEC = compiled("coprocessor", "codec")

MUTANTS = (
    Mutant(
        "a table may leave codes of 12 bits over",
        "hdl/codec/table_commands.py",
        "measured.filled == 1 << LONGEST_CODE",
        "measured.filled <= 1 << LONGEST_CODE",
        _CODEC,
    ),
    Mutant(
        "a table's escape may be shorter than its longest code",
        "hdl/codec/table_commands.py",
        "(measured.last == measured.longest)",
        "(measured.last <= measured.longest)",
        _CODEC,
    ),
    Mutant(
        "codes of a length follow those of the one before without a zero",
        "hdl/codec/table_commands.py",
        "Mux((sought == 0) | through, 0, following << 1)",
        "Mux((sought == 0) | through, 0, following)",
        _CODEC,
    ),
    Mutant(
        "a table is replaced while a pass is under way",
        "hdl/codec/block_commands.py",
        "table.busy.eq(tensor_pass.active)",
        "table.busy.eq(0)",
        _CODEC,
    ),
    Mutant(
        "a block that was given up can be read",
        "hdl/codec/encoder_pass.py",
        "departure.length.eq(Mux(word.given_up, 0, word.length))",
        "departure.length.eq(word.length)",
        _CODEC,
    ),
    Mutant(
        "the word behind the last one leaves the port too",
        "hdl/codec/block_buffer.py",
        "Mux(is_alone, 0, read.data)",
        "read.data",
        _CODEC,
    ),
    Mutant(
        "a read may go one word beyond the block",
        "hdl/codec/read_commands.py",
        "wanted.first + wanted.count > self.size",
        "wanted.first + wanted.count > self.size + 1",
        _CODEC,
    ),
    Mutant(
        "one of two bases may be beyond its format",
        "hdl/codec/encoder_pass.py",
        "for base in bases).all()",
        "for base in bases).any()",
        bench("coprocessor", "codec"),
    ),
    Mutant(
        "the mask's base is that of the code",
        "hdl/codec/encoder_pass.py",
        "mask.i_region.p.exponent.eq(begin.mask_exponent)",
        "mask.i_region.p.exponent.eq(begin.exponent)",
        _CODEC,
    ),
    Mutant(
        "FP16 comes widened where it should come as it is",
        "hdl/tensor_input/tensor_pass.py",
        "Mux(begin.format == FormatCode.FP32, FormatCode.FP32, FormatCode.BF16)",
        "begin.format",
        _CODEC,
    ),
)
