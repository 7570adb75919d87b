"""Mutants of the decoder's handler: what is found to be sound, and what of it leaves."""

from .mutant import Mutant, bench, compiled, simulated

__all__ = ["MUTANTS"]

_CODEC = compiled("coprocessor", "codec")

MUTANTS = (
    Mutant(
        "elements of a damaged block leave",
        "hdl/codec/decoder_pass.py",
        "with m.If(decoder.o_block.payload == BlockOutcome.FINE):",
        "with m.If(1):",
        _CODEC,
    ),
    Mutant(
        "a block may have a mantissa bit more than its format",
        "hdl/codec/decoder_pass.py",
        "begin.mantissa_bits <= fmt.mantissa_bits",
        "begin.mantissa_bits <= fmt.mantissa_bits + 1",
        bench("coprocessor", "codec"),
    ),
    Mutant(
        "a block of 8192 bytes is not too long",
        "hdl/codec/decoder_pass.py",
        "(begin.count == longest) & (begin.spare == 0)",
        "(begin.count > longest) & (begin.spare == 0)",
        _CODEC,
    ),
    Mutant(
        "what is behind a block's last byte is taken for its own",
        "hdl/codec/decoder_pass.py",
        "begin.count * CODED_WORD - begin.spare",
        "begin.count * CODED_WORD",
        _CODEC,
    ),
    Mutant(
        "a pass that is given up stays in the decoder",
        "hdl/codec/decoder_pass.py",
        "forgets = ResetInserter(self.given_up)",
        "forgets = ResetInserter(self.given_up & 0)",
        _CODEC,
    ),
    Mutant(
        "a last word without a second one is left out",
        "hdl/codec/word_grouper.py",
        "kept & (is_second | ends)",
        "kept & is_second",
        _CODEC,
    ),
    Mutant(
        "a lone word is lost where the last beat is empty",
        "hdl/codec/word_grouper.py",
        "lacks.eq(is_second & ~kept & ends)",
        "lacks.eq(0)",
        simulated("test_word_grouper.py", "no_word_is_lost"),
    ),
    Mutant(
        "elements of the word before are in the last one",
        "hdl/codec/element_words.py",
        "gathered.eq(Mux(ends, 0, self.o.payload))",
        "gathered.eq(self.o.payload)",
        simulated("test_element_words.py", "zeros_fill"),
    ),
    Mutant(
        "a symbol has an entry too few",
        "hdl/codec/decode_fill.py",
        "((1 << LONGEST_CODE) - 1) >> given.code.length",
        "((1 << LONGEST_CODE - 1) - 1) >> given.code.length",
        _CODEC,
    ),
    Mutant(
        "a block leaves before its pass is ended",
        "hdl/codec/departure.py",
        "with m.Elif(self.ends):",
        "with m.Else():",
        _CODEC,
    ),
)
