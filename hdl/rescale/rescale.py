"""Sums times powers of two, in another precision."""

from amaranth.hdl import Array, Cat, Const, EnableInserter, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.arithmetic.float.operand import RESULT_FLAGS, unpack_operand
from adagrain.hdl.stream.pipeline import elastic
from adagrain.models.interface.precision import LEVELS, WORD_BITS, Precision

from .align import PLACE, REST, Align
from .layouts import number_layout, sum_layout

__all__ = ["Rescale"]

#: Exponent of a sum's last bit, without the field in its word.
_UNIT = {p: 0 if p.integer else -p.fmt.bias - p.fmt.mantissa_bits for p in Precision}

#: Exponent of the last place of a result that is an integer, or a subnormal number.
_LEAST = {p: 0 if p.integer else _UNIT[p] + 1 for p in Precision}

#: What passes by the rounding.
_PASSING = data.StructLayout(
    {
        "flags": RESULT_FLAGS,
        "to": unsigned(2),
        **dict.fromkeys(("last", "sign", "infinite", "nan", "signalling"), unsigned(1)),
    }
)


class Rescale(wiring.Component):
    """Sums times powers of two, as :func:`adagrain.models.rescale.rescale` has them.

    One number per cycle, whatever the precisions, latency :attr:`LATENCY` cycles; all stages wait
    together for ``o``. The flags of the sum are kept.

    Members
    -------
    i : ``In(stream.Signature(sum_layout()))``
        Sums.
    o : ``Out(stream.Signature(number_layout()))``
        Numbers.
    """

    LATENCY = 1 + Align.LATENCY + 2
    PRECISIONS = tuple(Precision)

    def __init__(self) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(sum_layout())),
                "o": Out(stream.Signature(number_layout())),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        enable = elastic(m, self.i, self.o, self.LATENCY)
        stages = Module()
        stages.submodules.align = align = Align()
        passing = self._unpack(stages, align)
        for _ in range(Align.LATENCY):
            passing = _later(stages, passing)
        self._finish(stages, *self._round(stages, align, passing.to), _later(stages, passing))
        m.submodules.stages = EnableInserter(enable)(stages)
        return m

    def _unpack(self, m: Module, align: Align) -> data.View:
        """Stage 1: magnitude and exponent; what passes by."""
        i = self.i.p
        wide, narrow = (
            unpack_operand(m, i.word[: precision.bits], precision.fmt)
            for precision in (Precision.FP32, Precision.FP16)
        )
        is_half, is_integer = i.mode == Precision.FP16, i.mode[1]
        operand = {name: Mux(is_half, narrow[name], wide[name]) for name, _ in wide.shape()}
        units = [_UNIT[mode] + REST - _LEAST[to] for mode in Precision for to in Precision]
        unit, field = Signal(PLACE), Signal(Precision.FP32.fmt.exponent_bits)
        first = Signal(_PASSING)
        m.d.sync += [
            unit.eq(i.exponent + Array(Const(u, PLACE) for u in units)[Cat(i.to, i.mode)]),
            field.eq(Mux(is_integer, 0, operand["exponent"])),
            align.magnitude.eq(operand["significand"]),
            *[first[name].eq(i[name]) for name in ("flags", "to", "last")],
            first.sign.eq(operand["sign"]),  # FP32's is that of an integer
            *[
                first[name].eq(operand[name] & ~is_integer)
                for name in ("infinite", "nan", "signalling")
            ],
        ]
        with m.If(is_integer):
            m.d.sync += align.magnitude.eq(Mux(i.word[-1], -i.word, i.word))
        m.d.comb += [align.place.eq(unit + field), align.to.eq(first.to)]
        return first

    def _round(self, m: Module, align: Align, to: Value) -> tuple[Value, Value, data.View]:
        """Stage 6: to nearest even."""
        kept, rest = align.kept, align.rest
        guard, next_bit, inexact = rest[-1], rest[-2], rest.any()
        rounded, raised = Signal(len(kept) + 1), Signal.like(align.raised)
        flags = Signal(RESULT_FLAGS)
        m.d.sync += [
            rounded.eq(kept + (guard & (rest[:-1].any() | kept[0]))),
            raised.eq(align.raised),
            flags.inexact.eq(inexact),
            flags.underflow.eq(0),
        ]
        for precision in (Precision.FP32, Precision.FP16):
            places = precision.fmt.mantissa_bits
            becomes_normal = kept[:places].all() & guard & next_bit  # with one bit more
            with m.If(to == precision):
                m.d.sync += flags.underflow.eq(inexact & ~kept[places] & ~becomes_normal)
        return rounded, raised, flags

    def _finish(
        self, m: Module, rounded: Value, raised: Value, rounding: data.View, passing: data.View
    ) -> None:
        """Stage 7: what it becomes, with what it has raised."""
        word, flags = Signal(WORD_BITS), Signal(RESULT_FLAGS)
        m.d.comb += flags.eq(rounding)
        with m.Switch(passing.to):
            for precision in Precision:
                end = _integer if precision.integer else _float
                bits, overflow, invalid = end(precision, rounded, raised, passing)
                with m.Case(precision):
                    m.d.comb += [
                        word.eq(bits),
                        flags.inexact.eq(rounding.inexact | overflow),
                        flags.overflow.eq(overflow),
                        flags.invalid.eq(invalid),
                    ]
        out = self.o.p
        m.d.sync += [
            out.word.eq(word),
            out.flags.eq(Value.cast(flags) | Value.cast(passing.flags)),
            out.to.eq(passing.to),
            out.last.eq(passing.last),
        ]


def _float(
    precision: Precision, rounded: Value, raised: Value, passing: data.View
) -> tuple[Value, Value, Value]:
    """Bits of a floating-point number; whether it raises OVERFLOW, and INVALID."""
    fmt, places = precision.fmt, precision.fmt.mantissa_bits
    # The hidden bit, and what rounding carries over, raise the exponent by themselves.
    field = raised + rounded[places : places + 2]
    overflow = field >= fmt.overflow_value >> places
    magnitude = Cat(rounded[:places], field[: fmt.exponent_bits])
    magnitude = Mux(overflow | passing.infinite, fmt.overflow_value, magnitude)[: fmt.bits - 1]
    word = Mux(passing.nan, fmt.quiet_nan, Cat(magnitude, passing.sign))
    return word, overflow, passing.signalling


def _integer(
    precision: Precision, rounded: Value, raised: Value, passing: data.View
) -> tuple[Value, Value, Value]:
    """The same of an integer; that of a NaN is 0, since it has no magnitude."""
    top = LEVELS[precision]
    clamped = raised.any() | rounded[top.bit_length()] | passing.infinite
    magnitude = Mux(clamped, top, rounded[: top.bit_length()])
    return Mux(passing.sign, -magnitude, magnitude)[: precision.bits], clamped, passing.nan


def _later(m: Module, passing: data.View) -> data.View:
    """Signals that pass by, a cycle later."""
    later = Signal(_PASSING, name="passing", reset_less=True)
    m.d.sync += later.eq(passing)
    return later
