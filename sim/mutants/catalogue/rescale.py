"""Mutants of `rescale`."""

from .mutant import Mutant, bench, compiled

__all__ = ["MUTANTS"]

MUTANTS = (
    Mutant(
        "what is shifted out is forgotten",
        "hdl/rescale/align.py",
        "Cat(left[0] | lost, left[1:REST])",
        "left[:REST]",
        bench("rescale", "numbers"),
    ),
    Mutant(
        "a sum that is zero has an exponent",
        "hdl/rescale/align.py",
        "Mux((above < 0) | nothing, 0, above)",
        "Mux(above < 0, 0, above)",
        bench("rescale", "numbers"),
    ),
    Mutant(
        "what is shifted beyond the word comes round",
        "hdl/rescale/align.py",
        "gone.eq(goes <= -WORD_BITS)",
        "gone.eq(0)",
        bench("rescale", "numbers"),
    ),
    Mutant(
        "halves are rounded up",
        "hdl/rescale/rescale.py",
        "(rest[:-1].any() | kept[0])",
        "(rest[:-1].any() | 1)",
        bench("rescale", "numbers"),
    ),
    Mutant(
        "underflow is raised where rounding makes a number normal",
        "hdl/rescale/rescale.py",
        "inexact & ~kept[places] & ~becomes_normal",
        "inexact & ~kept[places]",
        compiled("rescale", "numbers"),
    ),
    Mutant(
        "an integer that is rounded beyond the last one is not clamped",
        "hdl/rescale/rescale.py",
        "raised.any() | rounded[top.bit_length()] | passing.infinite",
        "raised.any() | passing.infinite",
        bench("rescale", "numbers"),
    ),
    Mutant(
        "the flags of a sum are lost",
        "hdl/rescale/rescale.py",
        "Value.cast(flags) | Value.cast(passing.flags)",
        "flags",
        bench("rescale", "numbers"),
    ),
    Mutant(
        "the rest of a row's last word is that of the word before",
        "hdl/rescale/packer.py",
        "Mux(is_first, 0, self.o.p.word)",
        "self.o.p.word",
        bench("rescale", "rows"),
    ),
    Mutant(
        "a row goes on in the word of the one before",
        "hdl/rescale/packer.py",
        "with m.If(self.i.p.last):",
        "with m.If(self.i.p.last & full):",
        bench("rescale", "rows"),
    ),
    Mutant(
        "the last shift of an integer forgets what it loses",
        "hdl/rescale/integer_rescale.py",
        "kept.below.eq(given.below | lost)",
        "kept.below.eq(given.below)",
        bench("rescale", "integers"),
    ),
    Mutant(
        "an integer far too large is not clamped",
        "hdl/rescale/integer_rescale.py",
        "kept.above.eq(given.above | ",
        "kept.above.eq(",
        bench("rescale", "integers"),
    ),
    Mutant(
        "an integer is shifted to the left by one place less than it may be",
        "hdl/rescale/integer_rescale.py",
        "with m.If(exponent >= _RESULT):\n            m.d.sync += places.eq(0)",
        "with m.If(exponent >= _RESULT - 1):\n            m.d.sync += places.eq(0)",
        bench("rescale", "integers"),
    ),
)
