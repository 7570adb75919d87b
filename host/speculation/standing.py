"""State of a worker: what the workers are compared by, and what a recording begins with."""

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.distributed.checksum import checksum_of
from adagrain.host.distributed.stages import Stages
from adagrain.host.regions.regions import Regions

from .course import Standing
from .decisions import Decisions
from .planner import Planner

__all__ = ["Standings"]


class Standings:
    """Looks at how this worker stands.

    Parameters
    ----------
    regions : Regions
        The regions.
    device : Coprocessor
        This worker's device.
    stages : Stages
        The clock, and what the device has decided.
    decisions : Decisions
        Which updates the step in the making must have.
    planner : Planner
        Buckets.
    """

    def __init__(
        self,
        regions: Regions,
        device: Coprocessor,
        stages: Stages,
        decisions: Decisions,
        planner: Planner,
    ) -> None:
        self._regions = regions
        self._device = device
        self._stages = stages
        self._decisions = decisions
        self._planner = planner

    def compared(self) -> dict[str, int]:
        """Values that workers compare, with the updates that the step in the making must have."""
        standing = self._stages.standing(0, self._decisions.weights)
        return {**standing, "buckets": self._planner.checksum}

    def recorded(self) -> Standing:
        """State for a recording, where it begins, or goes on."""
        device, weights = self._device.state_dict(), checksum_of(self._regions.parameters())
        known = device["table"], device["parameters"], weights, self._planner.named
        return Standing(self._stages.clock.step, *known)
