"""Has the device look at regions' tensors, and tells of each record that comes back."""

from collections.abc import Sequence

import torch

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.telemetry.events import Sink, StatisticsEvent, TensorKind
from adagrain.models.statistics import Statistics

from .step import Step

__all__ = ["Measure"]


class Measure:
    """Statistics of regions' tensors, all in one call of the device.

    Parameters
    ----------
    device : Coprocessor
        What computes them.
    names : sequence of str
        Names of the regions.
    sinks : sequence of Sink
        What receives the records.
    """

    def __init__(
        self,
        device: Coprocessor,
        names: Sequence[str],
        sinks: Sequence[Sink],
    ) -> None:
        self._device = device
        self._names = names
        self._sinks = sinks
        # decisions take S2
        self._powers = 4 if sinks else 2

    def records(
        self, step: Step, kind: TensorKind, regions: Sequence[int], tensors: Sequence[torch.Tensor]
    ) -> dict[int, Statistics]:
        """Records by number of region.

        Parameters
        ----------
        step : Step
            The step; it has the exponents.
        kind : TensorKind
            Which tensors these are.
        regions : sequence of int
            Numbers of the regions to look at.
        tensors : sequence of Tensor
            Their elements, in any order.
        """
        exponents = [step.exponents[region] or 0 for region in regions]
        found = self._device.statistics_of(tensors, exponents, powers=self._powers)
        records = dict(zip(regions, found, strict=True))
        for sink in self._sinks:
            for region, record in records.items():
                sink.statistics(StatisticsEvent(step.number, self._names[region], kind, record))
        return records
