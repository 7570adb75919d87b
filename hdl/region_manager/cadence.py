"""The rules for a region's cadence."""

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from adagrain.models.interface.units.region_manager import CadencePolicy, RegionParameters
from adagrain.models.region_manager.policies import CADENCE_DWELL

from .comparator import Comparisons
from .layouts import Head

__all__ = ["Cadence"]

_Choice = data.StructLayout(
    {name: Head[name].shape for name in ("cadence", "cadence_dwell", "samples")}
)


class Cadence(wiring.Component):
    """Cadence that a region's policy chooses by its measurements; combinational.

    The loss guard goes first, then the dwell, then the noise. A policy that does not exist acts
    as ``FIXED``.

    Members
    -------
    record : ``In(Head)``
        The region, with this update among its samples.
    parameters : ``In(RegionParameters)``
        Decision epoch and thresholds.
    alarm : ``In(1)``
        The loss has risen above the guard.
    comparisons : ``In(Comparisons)``
        Noise in the sums.
    choice : ``Out``
        New values of the record's ``cadence``, ``cadence_dwell`` and ``samples``; without
        samples, the sums start anew with the next energies.
    guarded : ``Out(1)``
        The loss guard decided.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "record": In(Head),
                "parameters": In(RegionParameters),
                "alarm": In(1),
                "comparisons": In(Comparisons),
                "choice": Out(_Choice),
                "guarded": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        record, comparisons = self.record, self.comparisons
        for field, _ in _Choice:
            m.d.comb += self.choice[field].eq(record[field])

        with m.Switch(record.cadence_policy):
            with m.Case(CadencePolicy.PHASE):
                m.d.comb += self.choice.cadence.eq(record.cadence_min)
                with m.If(self.parameters.epoch >= record.phase_epoch):
                    m.d.comb += self.choice.cadence.eq(record.cadence_max)
            with m.Case(CadencePolicy.NOISE):
                with m.If(self.alarm):
                    m.d.comb += [
                        self.guarded.eq(1),
                        self.choice.samples.eq(0),
                        self.choice.cadence_dwell.eq(CADENCE_DWELL),
                    ]
                    self._shorten(m)
                with m.Elif(record.cadence_dwell != 0):
                    m.d.comb += self.choice.cadence_dwell.eq(record.cadence_dwell - 1)
                with m.Elif(
                    comparisons.measured
                    & (record.samples != 0)
                    & (record.samples >= self.parameters.noise_samples)
                ):
                    m.d.comb += self.choice.samples.eq(0)
                    with m.If(comparisons.quiet):
                        self._shorten(m)
                    with m.Elif(comparisons.noisy):
                        self._lengthen(m)
        return m

    def _shorten(self, m: Module) -> None:
        with m.If(self.record.cadence > self.record.cadence_min):
            self._change(m, self.record.cadence - 1)

    def _lengthen(self, m: Module) -> None:
        with m.If(self.record.cadence < self.record.cadence_max):
            self._change(m, self.record.cadence + 1)

    def _change(self, m: Module, cadence: object) -> None:
        m.d.comb += [
            self.choice.cadence.eq(cadence),
            self.choice.cadence_dwell.eq(CADENCE_DWELL),
        ]
