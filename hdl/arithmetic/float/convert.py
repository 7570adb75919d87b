"""Converts floating-point numbers from one format to another."""

from amaranth.hdl import Cat, Const, EnableInserter, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.stream.pipeline import elastic
from adagrain.models.interface.formats import ElementFormat

from .operand import check_format, result_layout, unpack_operand
from .round import Round, unrounded_layout

__all__ = ["Converter"]


class Converter(wiring.Component):
    """Numbers in another format, as :func:`adagrain.models.arithmetic.float.convert` has them.

    One number per cycle, latency :attr:`LATENCY` cycles; all stages wait together for ``o``.

    Parameters
    ----------
    source, target : ElementFormat
        Format of the numbers, and of the results.

    Members
    -------
    i : ``In(stream.Signature(source.bits))``
        Numbers.
    o : ``Out(stream.Signature(result_layout(target)))``
        Results and their flags.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    LATENCY = 1 + Round.LATENCY

    def __init__(self, source: ElementFormat, target: ElementFormat) -> None:
        check_format("source", source)
        check_format("target", target)
        self._source, self._target = source, target
        super().__init__(
            {
                "i": In(stream.Signature(source.bits)),
                "o": Out(stream.Signature(result_layout(target))),
            }
        )

    @property
    def source(self) -> ElementFormat:
        """Format of the numbers."""
        return self._source

    @property
    def target(self) -> ElementFormat:
        """Format of the results."""
        return self._target

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source, target = self._source, self._target
        precision = source.mantissa_bits + 1
        width = max(precision, target.mantissa_bits + 4)
        exponent_bits = max(source.exponent_bits, target.exponent_bits) + 2
        enable = elastic(m, self.i, self.o, self.LATENCY)
        rounding = Round(target, width, exponent_bits, small=target.bias < source.bias)
        m.submodules.round = EnableInserter(enable)(rounding)

        x = unpack_operand(m, self.i.payload, source)
        exact = Signal(unrounded_layout(width, exponent_bits), reset_less=True)
        with m.If(enable):
            m.d.sync += [
                exact.sign.eq(x.sign),
                exact.significand.eq(Cat(Const(0, width - precision), x.significand)),
                exact.exponent.eq(x.exponent + (target.bias - source.bias)),
                exact.infinite.eq(x.infinite),
                exact.nan.eq(x.nan),
                exact.invalid.eq(x.signalling),
            ]
        m.d.comb += [rounding.i.eq(exact), self.o.payload.eq(rounding.o)]
        return m
