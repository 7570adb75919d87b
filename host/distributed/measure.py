"""Has the device look at regions' tensors, and tells of each record that comes back."""

from collections.abc import Sequence

import torch

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.telemetry.events import Sink, StatisticsEvent, TensorKind
from adagrain.models.statistics import Energy

from .step import Step

__all__ = ["Measure"]

#: Batches that are kept: those of means and of averages, at some cadences.
_KEPT = 16


class Measure:
    """Energies of regions' tensors, all in one call of the device.

    Where somebody looks on, they are those of whole records.

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
        self._batches: dict[tuple[int, ...], tuple[Sequence[torch.Tensor], ...]] = {}

    def energies(
        self, step: Step, kind: TensorKind, regions: Sequence[int], tensors: Sequence[torch.Tensor]
    ) -> dict[int, Energy]:
        """Energies by number of region.

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
        if not self._sinks:
            found = self._device.energies_of(self._batch(tensors), exponents)
            return dict(zip(regions, found, strict=True))
        records = self._device.statistics_of(tensors, exponents)
        for sink in self._sinks:
            for region, record in zip(regions, records, strict=True):
                sink.statistics(StatisticsEvent(step.number, self._names[region], kind, record))
        return dict(zip(regions, map(Energy.of, records), strict=True))

    def forget(self) -> None:
        """Let go of tensors that were looked at: there will be others in their place."""
        self._batches.clear()

    def _batch(self, tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """The same, as a batch: they are in memory that lasts, and come again in each step."""
        key = tuple(map(id, tensors))
        if key not in self._batches:
            if len(self._batches) == _KEPT:
                self._batches.clear()
            self._batches[key] = tensors, self._device.batch(tensors)  # whose ids stay theirs
        return self._batches[key][1]
