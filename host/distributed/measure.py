"""Has the device look at regions' tensors, and tells of each record that comes back."""

from collections.abc import Sequence

import torch

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.telemetry.events import Sink, StatisticsEvent, TensorKind
from adagrain.models.statistics import Statistics

from .energies import Energies

__all__ = ["Measure"]


class Measure:
    """Statistics of regions' tensors, all in one call of the device.

    Parameters
    ----------
    device : Coprocessor
        What computes them.
    names : sequence of str
        Names of the regions.
    energies : Energies
        Who knows the exponents.
    sinks : sequence of Sink
        What receives the records.
    """

    def __init__(
        self,
        device: Coprocessor,
        names: Sequence[str],
        energies: Energies,
        sinks: Sequence[Sink],
    ) -> None:
        self._device = device
        self._names = names
        self._energies = energies
        self._sinks = sinks

    def records(
        self, step: int, kind: TensorKind, regions: Sequence[int], tensors: Sequence[torch.Tensor]
    ) -> dict[int, Statistics]:
        """Records by number of region.

        Parameters
        ----------
        step : int
            Number of the step.
        kind : TensorKind
            Which tensors these are.
        regions : sequence of int
            Numbers of the regions to look at.
        tensors : sequence of Tensor
            Their elements, in any order.
        """
        found = self._device.statistics_of(
            tensors, [self._energies.exponent(region) for region in regions]
        )
        records = dict(zip(regions, found, strict=True))
        for sink in self._sinks:
            for region, record in records.items():
                sink.statistics(StatisticsEvent(step, self._names[region], kind, record))
        return records
