"""Random requests for the difference unit."""

from adagrain.models.interface.units import DIFFERENCE
from adagrain.sim.benches.tensor_input.requests import PassRequests

__all__ = ["DifferenceRequests"]


class DifferenceRequests(PassRequests):
    """Passes over pairs; now and then an element has none, which is refused."""

    unit = DIFFERENCE

    def _count(self, from_link: int) -> int:
        count = super()._count(from_link)
        is_odd = from_link and self._random.random() < 0.1
        return count if is_odd else count + count % 2
