"""Has the device decide, from what the workers agreed on and what their averages hold."""

import logging
import zlib
from array import array
from collections.abc import Sequence
from itertools import chain

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.regions.regions import Regions
from adagrain.host.telemetry.events import TensorKind
from adagrain.models.interface.units.region_manager import DecisionStatus

from .accumulate import Accumulators
from .agreement import Agreed
from .energies import Energies
from .measure import Measure
from .repeated import RepeatedWarnings
from .step import Step

__all__ = ["Decide", "Decided"]

_log = logging.getLogger("adagrain")

#: Fields of ``RegionUpdate`` and of ``Decision``, by number of the region.
Decided = dict[int, tuple[dict[str, int], dict[str, int]]]


class Decide:
    """Decisions of a step, equal on all workers, because they decide from the same integers.

    Parameters
    ----------
    regions : Regions
        The regions.
    device : Coprocessor
        What decides.
    energies : Energies
        What averages are worth.
    measure : Measure
        Looks at averages.
    accumulators : Accumulators
        Who has them.
    quiet : bool
        Say nothing of dropped updates, as another worker does.

    Members
    -------
    checksum : int
        Of all decisions so far.
    dropped : int
        Updates that were dropped so far, because a gradient was not finite.
    """

    def __init__(
        self,
        regions: Regions,
        device: Coprocessor,
        energies: Energies,
        measure: Measure,
        accumulators: Accumulators,
        *,
        quiet: bool,
    ) -> None:
        self.checksum = self.dropped = 0
        self._regions = regions
        self._device = device
        self._energies = energies
        self._measure = measure
        self._accumulators = accumulators
        self._warnings = RepeatedWarnings(_log, quiet=quiet)

    def look(self, step: Step) -> None:
        """Have the device look at a step's averages, which are all there."""
        kept = [*step.due]
        averages = self._accumulators.averages_of(kept, step.current.place)
        step.averages = self._measure.energies(step, TensorKind.AVERAGE, kept, averages)

    def decide(self, step: Step) -> Decided:
        """Updates and decisions of the regions that are due.

        Parameters
        ----------
        step : Step
            The step, after its last backward pass; its averages have been looked at.

        Raises
        ------
        RuntimeError
            If the device refuses a region.
        """
        agreed, moment = step.agreed, step.moment
        assert agreed is not None and moment is not None
        due, ends = moment.due, moment.closes_epoch
        alike = {"decide": ends, "stall": agreed.stall, "redo": agreed.redo}
        updates = [
            {"region": r, **alike, **self._energies_of(r, step, agreed), **_guesses_of(r, agreed)}
            for r in due
        ]
        decisions = self._device.update_regions(updates, loss=agreed.loss, epoch_end=ends)
        self._check(due, decisions)
        self.dropped += len(step.dropping)
        for r, count in sorted(step.dropping.items()):
            self._warn(step.number, r, count)
        rows = zip(due, updates, decisions, strict=True)
        return {r: (update, decision) for r, update, decision in rows}

    def _energies_of(self, region: int, step: Step, agreed: Agreed) -> dict[str, int]:
        """Energy fields of ``RegionUpdate``."""
        exponent = step.exponents[region]
        if region not in step.averages:
            return self._energies.nothing(exponent)
        energy, clean = agreed.energy[region], not agreed.saturated[region]
        found = step.averages[region]
        return self._energies.update(region, energy, found, exponent=exponent, clean=clean)

    def _check(self, due: Sequence[int], decisions: Sequence[dict[str, int]]) -> None:
        """Check each decision's status, and bring the checksum of all so far up to date."""
        for r, decision in zip(due, decisions, strict=True):
            if decision["status"] != DecisionStatus.OK:
                status = DecisionStatus(decision["status"]).name
                raise RuntimeError(f"region {self._regions[r].name!r} was refused: {status}")
        fields = chain.from_iterable(decision.values() for decision in decisions)
        self.checksum = zlib.crc32(array("q", fields), self.checksum)

    def _warn(self, step: int, region: int, count: int) -> None:
        self._warnings.warn(
            region,
            f"step {step}: {count} elements of the gradient of region "
            f"{self._regions[region].name!r} are not finite; the region is not updated on any "
            "worker",
        )


def _guesses_of(region: int, agreed: Agreed) -> dict[str, int]:
    """Fields of ``RegionUpdate`` that say what became of guesses; none where nobody guesses."""
    if not agreed.trials:
        return {}
    return {"accepts": agreed.accepts[region], "trials": agreed.trials[region]}
