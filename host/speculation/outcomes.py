"""Outcomes of guesses, kept until the workers sum them."""

from collections.abc import Mapping, Sequence
from typing import Any

from adagrain.host.distributed.agreement import Trials

__all__ = ["Outcomes"]


class Outcomes:
    """Keeps what became of a region's guesses until the region is due: then its device is told."""

    def __init__(self) -> None:
        self._kept: dict[int, Trials] = {}

    def told(self, guesses: Mapping[int, Trials], due: Sequence[int]) -> dict[int, Trials]:
        """All that is known of regions that are due; it is not kept any longer.

        Parameters
        ----------
        guesses : mapping
            What has become of guesses since this was called last, by region.
        due : sequence of int
            Regions that are due.
        """
        for region, own in guesses.items():
            before = self._kept.get(region, Trials(0, 0))
            self._kept[region] = Trials(before.accepts + own.accepts, before.trials + own.trials)
        return {region: self._kept.pop(region) for region in due if region in self._kept}

    def state_dict(self) -> dict[int, Any]:
        """State of this worker for a resumed run."""
        return {region: tuple(own) for region, own in self._kept.items()}

    def load_state_dict(self, state: Mapping[int, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""
        self._kept = {region: Trials(*own) for region, own in state.items()}
