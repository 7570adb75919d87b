"""Floating-point arithmetic against Berkeley SoftFloat, results and flags."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import softfloatpy

from adagrain.models.arithmetic.float import Flag, Rounded, add, convert, multiply
from adagrain.models.interface.formats import FORMATS, ElementFormat, FormatCode
from adagrain.sim.benches.float.traffic import pairs, special

FULL = os.environ.get("ADAGRAIN_FULL") == "1"
FP16, FP32 = FORMATS[FormatCode.FP16], FORMATS[FormatCode.FP32]

#: SoftFloat's type and the prefix of its functions, by format.
SOFT: dict[ElementFormat, tuple[Any, str]] = {
    FP16: (softfloatpy.Float16, "f16"),
    FP32: (softfloatpy.Float32, "f32"),
}
#: Pairs by format, half of them random and half of them near to each other.
PAIRS = {FP16: 50_000_000 if FULL else 100_000, FP32: 10_000_000 if FULL else 100_000}
CHUNK = 500_000

OPERATIONS = {"mul": multiply, "add": add}


def soft(function: Callable[..., Any], fmt: ElementFormat, *operands: np.ndarray) -> Rounded:
    """SoftFloat's results, one by one."""
    kind, size = SOFT[fmt][0], fmt.bits // 8
    words, flags = [], []
    softfloatpy.set_tininess_mode(softfloatpy.TininessMode.AFTER_ROUNDING)
    for values in zip(*(column.tolist() for column in operands), strict=True):
        softfloatpy.set_exception_flags(softfloatpy.ExceptionFlag(0))
        result = function(*(kind.from_bytes(value.to_bytes(size, "big")) for value in values))
        words.append(int.from_bytes(result.to_bytes(), "big"))
        flags.append(int(softfloatpy.get_exception_flags()))
    return Rounded(np.array(words), np.array(flags))


def demand_equal(ours: Rounded, theirs: Rounded, *operands: np.ndarray) -> None:
    wrong = np.flatnonzero((ours.words != theirs.words) | (ours.flags != theirs.flags))
    report = [
        f"{' '.join(f'{column[n]:x}' for column in operands)}: {theirs.words[n]:x} "
        f"{theirs.flags[n]:x}, not {ours.words[n]:x} {ours.flags[n]:x}"
        for n in wrong[:5]
    ]
    assert not wrong.size, f"{wrong.size} of {operands[0].size} differ: {'; '.join(report)}"


@pytest.mark.parametrize("fmt", SOFT, ids=lambda fmt: fmt.code.name)
@pytest.mark.parametrize("operation", OPERATIONS)
class TestArithmetic:
    def test_all_special_pairs(self, fmt: ElementFormat, operation: str) -> None:
        a, b = (side.ravel() for side in np.meshgrid(special(fmt), special(fmt)))
        function = getattr(softfloatpy, f"{SOFT[fmt][1]}_{operation}")
        demand_equal(OPERATIONS[operation](a, b, fmt), soft(function, fmt, a, b), a, b)

    def test_random_pairs(self, fmt: ElementFormat, operation: str) -> None:
        rng = np.random.default_rng(7)
        function = getattr(softfloatpy, f"{SOFT[fmt][1]}_{operation}")
        for _ in range(0, PAIRS[fmt], CHUNK):
            a, b = pairs(fmt, min(CHUNK, PAIRS[fmt]), rng)
            demand_equal(OPERATIONS[operation](a, b, fmt), soft(function, fmt, a, b), a, b)


@pytest.mark.parametrize(("source", "target"), [(FP16, FP32), (FP32, FP16)])
def test_conversion(source: ElementFormat, target: ElementFormat) -> None:
    random = np.random.default_rng(7).integers(0, 1 << 32, PAIRS[FP32] // 2)
    around_one = random & 0x807F_FFFF | (random >> 23 & 63) + 95 << 23  # the exponents of FP16
    a = np.arange(1 << 16) if source is FP16 else np.r_[special(FP32), random, around_one]
    function = getattr(softfloatpy, f"{SOFT[source][1]}_to_{SOFT[target][1]}")
    demand_equal(convert(a, source, target), soft(function, source, a), a)


def test_flags_have_softfloats_bits() -> None:
    theirs = {flag.name: int(flag) for flag in softfloatpy.ExceptionFlag}
    assert {flag.name: int(flag) for flag in Flag} == {
        **{name: bit for name, bit in theirs.items() if name != "INFINITE"},
        "DIVIDE_BY_ZERO": theirs["INFINITE"],
    }
