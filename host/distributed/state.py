"""State of a reducer's stages and of the device, as a resumed run needs it."""

from collections.abc import Mapping
from typing import Any

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.regions.regions import Regions

from .accumulate import Accumulators
from .clock import Clock
from .decide import Decide
from .energies import Energies

__all__ = ["State"]


class State:
    """Saves and restores, between two steps.

    Parameters
    ----------
    regions : Regions
        The regions.
    workers : int
        W.
    device : Coprocessor
        This worker's device.
    clock, energies, accumulators, decide
        The stages.
    """

    def __init__(
        self,
        regions: Regions,
        workers: int,
        device: Coprocessor,
        clock: Clock,
        energies: Energies,
        accumulators: Accumulators,
        decide: Decide,
    ) -> None:
        self._shape = [(region.name, region.numel) for region in regions]
        self._workers = workers
        self._device = device
        self._clock = clock
        self._energies = energies
        self._accumulators = accumulators
        self._decide = decide

    def save(self) -> dict[str, Any]:
        """Everything, by name."""
        return {
            "regions": self._shape,
            "workers": self._workers,
            "step": self._clock.step,
            "cadences": list(self._clock.cadences),
            "exponents": list(self._energies.exponents),
            "accumulators": [total.clone() for total in self._accumulators.totals],
            "check": self._decide.checksum,
            "device": self._device.state_dict(),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`save` gave.

        Raises
        ------
        ValueError
            If it is of other regions or of another number of workers.
        """
        if [tuple(entry) for entry in state["regions"]] != self._shape:
            raise ValueError(f"state must be of regions {self._shape}, not {state['regions']}")
        if state["workers"] != self._workers:
            raise ValueError(f"state must be of {self._workers} workers, not {state['workers']}")
        self._clock.restore(state["step"], state["cadences"])
        self._energies.exponents = list(state["exponents"])
        for total, saved in zip(self._accumulators.totals, state["accumulators"], strict=True):
            total.copy_(saved)
        self._decide.checksum = state["check"]
        self._device.load_state_dict(state["device"])
