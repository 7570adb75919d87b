"""Update of a region's small fields."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.interface.units.region_manager import RegionUpdate
from adagrain.models.region_manager.averages import ALPHA_BITS, ALPHA_SHIFTS

from .layouts import Head

__all__ = ["Learning"]

_Choice = data.StructLayout(
    {name: Head[name].shape for name in ("alpha", "measured", "exponent", "samples")}
)


class Learning(wiring.Component):
    """Brings a region's α up to date, and what its sums are said to hold; combinational.

    Members
    -------
    record : ``In(Head)``
        The region.
    update : ``In(RegionUpdate)``
        Its update.
    quotient : ``In(16)``
        The update's agreement, Q0.16.
    fresh : ``In(1)``
        The sums have started anew.
    alpha_held : ``In(1)``
        The update says nothing about α.
    choice : ``Out``
        New values of the record's ``alpha``, ``measured``, ``exponent`` and ``samples``.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "record": In(Head),
                "update": In(RegionUpdate),
                "quotient": In(16),
                "fresh": In(1),
                "alpha_held": In(1),
                "choice": Out(_Choice),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        record, choice = self.record, self.choice
        for field, _ in _Choice:
            m.d.comb += choice[field].eq(record[field])
        with m.If(self.update.usable):
            m.d.comb += [
                choice.exponent.eq(self.update.exponent),
                choice.samples.eq(record.samples + (record.samples != 65535)),
            ]
            with m.If(self.fresh):
                m.d.comb += choice.samples.eq(1)
        with m.If(~self.alpha_held):
            self._average_alpha(m)
        return m

    def _average_alpha(self, m: Module) -> None:
        """The first updates weigh more than all further ones."""
        alpha, measured = self.record.alpha, self.record.measured
        lost, gained = Signal.like(alpha), Signal.like(alpha)
        with m.Switch(measured):
            for updates, shift in enumerate(ALPHA_SHIFTS):
                with m.Case(updates):
                    m.d.comb += [
                        lost.eq(alpha >> shift),
                        gained.eq(self.quotient << ALPHA_BITS - shift),
                    ]
        m.d.comb += self.choice.alpha.eq(alpha - lost + gained)
        with m.If(measured != len(ALPHA_SHIFTS) - 1):
            m.d.comb += self.choice.measured.eq(measured + 1)
