"""State of a reducer's stages and of the device, as a resumed run needs it."""

from collections.abc import Mapping
from typing import Any

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.regions.regions import Regions

from .accumulate import Accumulators
from .clock import Clock
from .decide import Decide
from .energies import Energies
from .exchange import Exchange
from .gather import Gather

__all__ = ["State"]


class State:
    """Saves and restores, between two steps.

    Parameters
    ----------
    regions : Regions
        The regions.
    exchange : Exchange
        What averages over the workers.
    device : Coprocessor
        This worker's device.
    clock, energies, accumulators, gather, decide
        The stages.
    """

    def __init__(
        self,
        regions: Regions,
        exchange: Exchange,
        device: Coprocessor,
        clock: Clock,
        energies: Energies,
        accumulators: Accumulators,
        gather: Gather,
        decide: Decide,
    ) -> None:
        self._shape = [(region.name, region.numel) for region in regions]
        self._exchange = exchange
        self._device = device
        self._clock = clock
        self._energies = energies
        self._accumulators = accumulators
        self._gather = gather
        self._decide = decide

    def save(self) -> dict[str, Any]:
        """Everything, by name."""
        return {
            "regions": self._shape,
            "workers": self._exchange.workers,
            "step": self._clock.step,
            "cadences": list(self._clock.cadences),
            "coming": dict(self._clock.coming),
            "exponents": list(self._energies.exponents),
            "accumulators": [total.clone() for total in self._accumulators.totals],
            "check": self._decide.checksum,
            "device": self._device.state_dict(),
            "dropped": self._decide.dropped,
            "bytes": (self._exchange.bytes_sent, self._gather.bytes_dense),
            "kind_of_exchange": type(self._exchange).__name__,
            "exchange": self._exchange.state_dict(),
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`save` gave.

        Raises
        ------
        ValueError
            If it is of other regions, of another number of workers, or of another exchange.
        """
        own, other = type(self._exchange).__name__, state["kind_of_exchange"]
        if other != own:
            raise ValueError(f"state must be of a {own}, not of a {other}")
        if [tuple(entry) for entry in state["regions"]] != self._shape:
            raise ValueError(f"state must be of regions {self._shape}, not {state['regions']}")
        workers = self._exchange.workers
        if state["workers"] != workers:
            raise ValueError(f"state must be of {workers} workers, not {state['workers']}")
        self._clock.restore(state["step"], state["cadences"], state["coming"])
        self._energies.exponents = list(state["exponents"])
        for total, saved in zip(self._accumulators.totals, state["accumulators"], strict=True):
            total.copy_(saved)
        self._decide.checksum = state["check"]
        self._device.load_state_dict(state["device"])
        self._decide.dropped = state["dropped"]
        self._exchange.bytes_sent, self._gather.bytes_dense = state["bytes"]
        self._exchange.load_state_dict(state["exchange"])
