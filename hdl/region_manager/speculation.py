"""The rules for a region's speculation state, gain and percentage."""

from amaranth.hdl import Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.interface.units.region_manager import (
    RegionParameters,
    SpeculationPolicy,
    SpeculationState,
)
from adagrain.models.region_manager.averages import ALPHA_BITS
from adagrain.models.region_manager.policies import TENTH

from .comparator import Comparisons
from .layouts import Head

__all__ = ["Choice", "Speculation", "sixteenths"]

#: Fields of a record that these rules write.
Choice = data.StructLayout(
    {
        name: Head[name].shape
        for name in (
            "state", "confidence", "streak", "gain", "percentage", "dwell", "dwell_length"
        )
    }
)  # fmt: skip


class Speculation(wiring.Component):
    """Speculation that a region's policy chooses by its measurements; combinational.

    Rules and their reasons are on the page ``docs/region_manager.md``; a policy that does not
    exist acts as ``NEVER``, a state that does not exist as ``GLOBAL``.

    Members
    -------
    record : ``In(Head)``
        The region, with its new α and confidence.
    parameters : ``In(RegionParameters)``
        Thresholds.
    loss_rate : ``In(signed(16))``
        Convergence rate of the run, octaves, Q5.10.
    comparisons : ``In(Comparisons)``
        The gain was asked for at confidence 4 where the state is ``GLOBAL``.
    choice : ``Out(Choice)``
        New values of the record's fields.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "record": In(Head),
                "parameters": In(RegionParameters),
                "loss_rate": In(signed(16)),
                "comparisons": In(Comparisons),
                "choice": Out(Choice),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for field, _ in Choice:
            m.d.comb += self.choice[field].eq(self.record[field])
        with m.Switch(self.record.policy):
            with m.Case(SpeculationPolicy.COST_AWARE):
                self._cost_aware(m)
            with m.Case(SpeculationPolicy.SEED_LITERAL):
                self._seed_literal(m)
            with m.Case(SpeculationPolicy.ALWAYS):
                self._enter(m, SpeculationState.FULL, 65535)
            with m.Default():
                self._enter(m, SpeculationState.GLOBAL, 0)
        return m

    def _enter(self, m: Module, state: SpeculationState, percentage: Value | int) -> None:
        m.d.comb += [
            self.choice.state.eq(state),
            self.choice.percentage.eq(percentage),
            self.choice.gain.eq(sixteenths(percentage)),
        ]

    def _cost_aware(self, m: Module) -> None:
        record, parameters, choice, gains = (
            self.record, self.parameters, self.choice, self.comparisons.gains
        )  # fmt: skip
        settled = record.dwell == 0
        length, longer = Signal(8), Signal(8)
        target, agreement, nearer = Signal(5), Signal(5), Signal(8)
        alpha = record.alpha[ALPHA_BITS:]
        agrees = alpha >= parameters.t1
        hopeless = (record.confidence == 0) | (alpha < parameters.t0)
        m.d.comb += [
            length.eq(Mux(record.dwell_length == 0, parameters.dwell, record.dwell_length)),
            longer.eq(Mux(length[7], 255, length << 1)),
            agreement.eq(sixteenths(alpha)),
            target.eq(_hybrid(agreement)),
            nearer.eq(record.gain + (agreement > record.gain) - (agreement < record.gain)),
            choice.dwell.eq(Mux(settled, 0, record.dwell - 1)),
            choice.dwell_length.eq(length),
            choice.streak.eq(Mux(agrees, Mux(record.streak == 3, 3, record.streak + 1), 0)),
            choice.percentage.eq(Mux(choice.gain[4], 65535, choice.gain[:4] << 12)),
        ]

        def enter(state: SpeculationState, gain: Value | int) -> None:
            m.d.comb += [choice.state.eq(state), choice.gain.eq(gain)]

        def promote(state: SpeculationState, gain: Value | int) -> None:
            enter(state, gain)
            m.d.comb += choice.dwell.eq(length)

        def demote(state: SpeculationState, gain: Value | int) -> None:
            enter(state, gain)
            m.d.comb += [choice.dwell.eq(longer), choice.dwell_length.eq(longer)]

        with m.Switch(record.state):
            with m.Case(SpeculationState.HYBRID):
                with m.If(hopeless):
                    demote(SpeculationState.GLOBAL, 0)
                with m.Elif(settled & (record.confidence >= 6) & (alpha >= parameters.t2) & gains):
                    promote(SpeculationState.FULL, 16)
                with m.Else():
                    enter(SpeculationState.HYBRID, _hybrid(nearer))
            with m.Case(SpeculationState.FULL):
                enter(SpeculationState.FULL, 16)
                with m.If(hopeless):
                    demote(SpeculationState.GLOBAL, 0)
                with m.Elif(record.confidence <= 3):
                    demote(SpeculationState.HYBRID, target)
            with m.Default():
                enter(SpeculationState.GLOBAL, 0)
                with m.If(settled & (choice.streak >= 2) & gains):
                    promote(SpeculationState.HYBRID, target)
                    m.d.comb += choice.confidence.eq(4)

    def _seed_literal(self, m: Module) -> None:
        record, thresholds, comparisons = self.record, self.parameters, self.comparisons
        rate, divergence = self.loss_rate, ~record.alpha[ALPHA_BITS:]
        slow = (rate < thresholds.rate) & comparisons.wide & (divergence > thresholds.divergence)
        fast = (rate > thresholds.rate) & comparisons.narrow & (divergence < thresholds.divergence)
        percentage = Signal(unsigned(16))
        with m.If(comparisons.above):
            more = record.percentage + TENTH
            m.d.comb += percentage.eq(Mux(more[16], 65535, more))
        with m.Elif(comparisons.below):
            m.d.comb += percentage.eq(Mux(record.percentage > TENTH, record.percentage - TENTH, 0))
        with m.Else():
            m.d.comb += percentage.eq(record.percentage)

        with m.If(slow):
            self._enter(m, SpeculationState.FULL, 65535)
        with m.Elif(fast):
            self._enter(m, SpeculationState.GLOBAL, 0)
        with m.Else():
            self._enter(m, SpeculationState.HYBRID, percentage)


def sixteenths(fraction: Value | int) -> Value | int:
    """A Q0.16 fraction rounded to sixteenths, 0…16."""
    return (fraction + 2048) >> 12


def _hybrid(gain: Value) -> Value:
    """A gain clamped to 1…15."""
    return Mux(gain > 15, 15, Mux(gain == 0, 1, gain))
