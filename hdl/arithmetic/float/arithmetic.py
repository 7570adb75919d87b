"""Base of the units for two operands: their ports."""

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.interface.formats import ElementFormat

from .operand import check_format, operands_layout, result_layout

__all__ = ["Arithmetic"]


class Arithmetic(wiring.Component):
    """A unit for two numbers of one format.

    One result per cycle; all stages wait together for ``o``.

    Parameters
    ----------
    fmt : ElementFormat
        Format of operands and results.

    Members
    -------
    i : ``In(stream.Signature(operands_layout(fmt)))``
        Operands.
    o : ``Out(stream.Signature(result_layout(fmt)))``
        Results and their flags.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    def __init__(self, fmt: ElementFormat) -> None:
        check_format("fmt", fmt)
        self._fmt = fmt
        super().__init__(
            {
                "i": In(stream.Signature(operands_layout(fmt))),
                "o": Out(stream.Signature(result_layout(fmt))),
            }
        )

    @property
    def fmt(self) -> ElementFormat:
        """Format of operands and results."""
        return self._fmt
