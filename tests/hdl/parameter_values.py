"""Right and wrong values of constructors' parameters, with what is said of wrong ones."""

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Signal, signed

from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.formats import FORMATS, FormatCode
from adagrain.models.interface.precision import INTEGERS, Precision
from adagrain.models.interface.units import DIFFERENCE, Unit
from adagrain.models.interface.units.region_manager import REGION_MANAGER

FP16 = FORMATS[FormatCode.FP16]


@dataclass(frozen=True)
class Given:
    """A right value of a parameter, and wrong ones with what is said of each; none: Amaranth's."""

    right: Any
    wrong: tuple[tuple[Any, str], ...] = ()


def given(right: Any, must: str, *wrong: Any, kind: str = "an integer") -> Given:
    """Wrong values out of range, and of kinds that would pass for a right one."""
    out_of_range = [(value, f"{must}, not {value!r}") for value in wrong]
    others = [(value, f"{kind}, not {value!r}") for value in (True, 2.0, "2", None)]
    return Given(right, (*out_of_range, *others))


def one_of(right: int, *others: int) -> Given:
    *first, last = map(str, sorted((right, *others)))
    return given(right, f"{', '.join(first)} or {last}", 0, -1, 3, 8)


def between(right: int, low: int, high: int) -> Given:
    return given(right, f"from {low} to {high}", low - 1, high + 1)


def at_least(right: int, low: int) -> Given:
    return given(right, f"at least {low}", low - 1, -right)


def of_type(right: Any, kind: type, *wrong: Any) -> Given:
    return Given(
        right, tuple((value, f"of type {kind.__name__}, not {value!r}") for value in wrong)
    )


def rate(right: float, *more: tuple[Any, str]) -> Given:
    wrong = (0, -1e6, float("nan"), float("inf"))
    out_of_range = [(value, f"positive and finite, not {value!r}") for value in wrong]
    others = [(value, f"a number, not {value!r}") for value in (True, "9600", None)]
    return Given(right, (*out_of_range, *others, *more))


FMT = Given(
    FP16,
    (
        (FORMATS[FormatCode.FP8_E4M3], "a format with infinities, not FP8_E4M3"),
        (FormatCode.FP16, f"of type ElementFormat, not {FormatCode.FP16!r}"),
        ("FP16", "of type ElementFormat, not 'FP16'"),
    ),
)
BUILT = of_type(configuration("small"), type(configuration("small")), "small", 4)
LANES, POWERS = one_of(4, 1, 2), one_of(4, 2)
ENTRIES, COUNT_BITS, REGIONS = at_least(8, 2), between(32, 1, 32), between(8, 1, 8192)
BLOCK, BYTES = between(254, 1, 254), at_least(4, 1)
SLICES = between(4, 1, 16)
WORDS = given(64, "a power of two from 2 to 65536", 0, 1, 12, -4, 1 << 17)
PRECISIONS = Given(
    INTEGERS,
    (
        ((Precision.INT4,), "FP32, FP16, INT8, INT4, or INT8, INT4, not INT4"),
        ((2, 3), "a tuple of Precision, not (2, 3)"),
        ((0, 1), "a tuple of Precision, not (0, 1)"),
        ([*INTEGERS], "a tuple of Precision, not [<Precision.INT8"),
        (2, "a tuple of Precision, not 2"),
    ),
)
WITH_SLICES = of_type(configuration("granular"), type(configuration("granular")), "granular", 4)
STREAMS = Given(
    (FormatCode.FP32,),
    (
        (FormatCode.FP32, "of type tuple, not <FormatCode.FP32"),
        ((), "of FP32, FP16, BF16, one at least, not ()"),
        ((FormatCode.FP8_E5M2,), "of FP32, FP16, BF16, one at least, not (<FormatCode.FP8"),
        (("x",), "of FP32, FP16, BF16, one at least, not ('x',)"),
        ((0, 1), "of FP32, FP16, BF16, one at least, not (0, 1)"),
    ),
)
UNIT = of_type(DIFFERENCE, Unit, "difference")
WITH_TABLE = of_type(REGION_MANAGER, Unit, "region_manager")
UART = {
    "clock": rate(12e6),
    "baud": rate(115200.0, (4e6, "at most 3000000 at 12000000 Hz, not 4e+06")),
}


def flag(right: bool) -> Given:
    return Given(right, tuple((value, f"True or False, not {value!r}") for value in (0, 1, None)))


def factor() -> Given:
    """Operand of an ECP5's multiplier."""
    message = "signed and of at most 18 bits, not "
    wrong = ((Signal(18), message + "unsigned(18)"), (Signal(signed(19)), message + "signed(19)"))
    return Given(Signal(signed(18)), wrong)


def factors() -> Given:
    """Operands of an iCE40's multiplier."""
    row, wide = (tuple(Signal(signed(width)) for width in (n, n, 2 * n)) for n in (8, 9))
    return Given(
        [row, row],
        (
            ([], "of one or two products, not 0"),
            ([row, row, row], "of one or two products, not 3"),
            ([row, wide], "signed and of 8 bits, not signed(9)"),
        ),
    )
