"""State of a reducer's stages and of the device, as a resumed run needs it."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from adagrain.host.device.arguments import check_parts
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.regions.regions import Regions

from .accumulate import Accumulators
from .clock import Clock
from .decide import Decide
from .energies import Energies
from .exchange import Exchange
from .gather import Gather

__all__ = ["State", "check_optimizers", "check_parts", "check_rank", "check_whole", "entries_of"]


#: What :meth:`State.save` writes, beside options.
_PARTS = (
    *("kind_of_exchange", "regions", "workers", "rank", "exchange", "device", "step", "cadences"),
    *("coming", "exponents", "accumulators", "check", "dropped", "bytes"),
)


class State:
    """Saves and restores, between two steps.

    Parameters
    ----------
    regions : Regions
        The regions.
    options : mapping
        Options that the device's records follow, by name: states of others are refused.
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
        options: Mapping[str, Any],
        exchange: Exchange,
        device: Coprocessor,
        clock: Clock,
        energies: Energies,
        accumulators: Accumulators,
        gather: Gather,
        decide: Decide,
    ) -> None:
        self._shape = [(region.name, region.numel) for region in regions]
        self._options = options
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
            "rank": self._exchange.rank,
            **self._options,
            "step": self._clock.step,
            "cadences": list(self._clock.cadences),
            "coming": dict(self._clock.coming),
            "exponents": list(self._energies.exponents),
            "accumulators": [own.clone() for own in self._accumulators.sums],
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
        TypeError, ValueError
            If it is no such state, of other regions, other options, of another worker, of another
            number of them, or of another exchange; then nothing has changed.
        """
        self.check(state)
        self._exchange.load_state_dict(state["exchange"])  # first: it may be of another mask
        self._device.load_state_dict(state["device"])
        self._clock.restore(state["step"], state["cadences"], state["coming"])
        self._energies.exponents = list(state["exponents"])
        for own_sum, saved in zip(self._accumulators.sums, state["accumulators"], strict=True):
            own_sum.copy_(saved)
        self._decide.checksum = state["check"]
        self._decide.dropped = state["dropped"]
        self._exchange.bytes_sent, self._gather.bytes_dense = state["bytes"]

    def check(self, state: Mapping[str, Any]) -> None:
        """See to it that :meth:`load` can take a state.

        Raises
        ------
        TypeError, ValueError
            As :meth:`load`.
        """
        check_parts(state, *_PARTS)
        own, other = type(self._exchange).__name__, state["kind_of_exchange"]
        if other != own:
            raise ValueError(f"state must be of a {own}, not of a {other}")
        if [tuple(entry) for entry in state["regions"]] != self._shape:
            raise ValueError(f"state must be of regions {self._shape}, not {state['regions']}")
        workers = self._exchange.workers
        if state["workers"] != workers:
            raise ValueError(f"state must be of {workers} workers, not {state['workers']}")
        check_rank(state["rank"], self._exchange.rank)
        sizes = [tuple(own.shape) for own in self._accumulators.sums]
        found_sizes = [tuple(own.shape) for own in state["accumulators"]]
        if found_sizes != sizes:
            raise ValueError(f"accumulators of the state must be of {sizes}, not of {found_sizes}")
        for name, is_own in self._options.items():
            if (found := state.get(name, is_own)) != is_own:  # earlier states have not all of them
                raise ValueError(f"{name} of the state must be {is_own}, not {found}")


def check_rank(saved: int, rank: int) -> None:
    """See to it that a worker restores its own state.

    Raises
    ------
    ValueError
        If it is that of another one: what is gathered or left on a worker is there alone.
    """
    if saved != rank:
        raise ValueError(
            f"state must be of worker {rank}, not of worker {saved}: each saves and loads its own"
        )


def check_optimizers(
    saved: Sequence[Mapping[str, Any]], own: Sequence[torch.optim.Optimizer]
) -> None:
    """See to it that a state is of such optimizers as there are.

    Raises
    ------
    TypeError, ValueError
        If it is of another number of them, or one is no state, or of other groups of parameters.
    """
    if len(saved) != len(own):
        raise ValueError(f"optimizers of the state must be {len(own)}, not {len(saved)}")
    for number, (state, optimizer) in enumerate(zip(saved, own, strict=True)):
        check_parts(state, "state", "param_groups")
        found, wanted = (
            [len(group["params"]) for group in groups]
            for groups in (state["param_groups"], optimizer.param_groups)
        )
        if found != wanted:
            raise ValueError(
                f"groups of optimizer {number} of the state must have {wanted} parameters, not "
                f"{found}"
            )


def entries_of(state: object) -> int:
    """Number of values in a state, in mappings and lists too."""
    if isinstance(state, Mapping):
        return sum(map(entries_of, state.values()))
    if isinstance(state, list | tuple):
        return sum(map(entries_of, state))
    return 1


def check_whole(state: Mapping[str, Any]) -> None:
    """See to it that a state has as many values as its ``"entries"``, which are none of them.

    Raises
    ------
    ValueError
        If it has more or fewer. Earlier states do not tell; they are taken.
    """
    found = entries_of({name: part for name, part in state.items() if name != "entries"})
    if (wanted := state.get("entries", found)) != found:
        raise ValueError(
            f"state must have {wanted} entries, as when it was saved, not {found}: "
            "torch.distributed.checkpoint restores only those that a new state has, and residuals "
            "are not among them; save each worker's state by torch.save, or use Checkpoints"
        )
