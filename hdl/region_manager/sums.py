"""Scaling of an update's energies to the sums of its region."""

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.interface.units.region_manager import RegionUpdate
from adagrain.models.region_manager.table import LARGEST_RESCALE, SUM_BITS

from .layouts import WORD_BITS, Head, SumsIntake, Word, WordStream, in_pair

__all__ = ["Sums"]


class Sums(wiring.Component):
    """Looks at the sums of a region, and tells how they take in an update's energies.

    They start anew where nothing is in them yet, where the exponent leaps by more than seven
    octaves, or where one of them would leave its range. They are halved where one is near the end
    of it, and stay as they are where the update is not usable.

    Members
    -------
    clear : ``In(1)``
        Forget what was seen.
    look : ``In(1)``
        Look at what arrives.
    i_arrived : ``In(WordStream)``
        Words of the region; those that are no sums pass by.
    update : ``In(RegionUpdate)``
        Exponent of the energies.
    record : ``In(Head)``
        Exponent of the sums, and the number of updates in them.
    intake : ``Out(SumsIntake)``
        From the cycle on after both sums have been seen.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "clear": In(1),
                "look": In(1),
                "i_arrived": In(WordStream),
                "update": In(RegionUpdate),
                "record": In(Head),
                "intake": Out(SumsIntake),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        stored = Signal(WORD_BITS - SUM_BITS + 2 * LARGEST_RESCALE)  # high bits of the sums
        near_overflow, rise = Signal(), Signal(signed(9))
        arrived, data = self.i_arrived, self.i_arrived.p.data
        with m.If(self.clear):
            m.d.sync += [stored.eq(0), near_overflow.eq(0)]
        with m.Elif(self.look & arrived.valid & in_pair(arrived.p.word, Word.A_SUM)):
            m.d.sync += [
                stored.eq(stored | data[-len(stored) :]),
                near_overflow.eq(near_overflow | data[SUM_BITS - 1 :].any()),
            ]
        m.d.comb += [
            rise.eq(self.update.exponent - self.record.exponent),
            self.intake.rescale.eq(rise),
            self.intake.halve.eq(near_overflow),
            self.intake.fresh.eq(
                (self.record.samples == 0) | _too_far(rise) | _overflows(stored, rise)
            ),
            self.intake.hold.eq(~self.update.usable),
        ]
        return m


def _too_far(rise: Value) -> Value:
    return (rise > LARGEST_RESCALE) | (rise < -LARGEST_RESCALE)


def _overflows(stored: Value, rise: Value) -> Value:
    """Sums with these high bits leave their range when the exponent rises so."""
    fall = Mux(rise < 0, -rise, 0)[:3]
    return (stored << (fall << 1))[2 * LARGEST_RESCALE :].any()
