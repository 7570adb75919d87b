"""Random requests for the statistics unit: passes, and bins of its histogram."""

from adagrain.models.interface.records import pack, size
from adagrain.models.interface.units import STATISTICS
from adagrain.models.interface.units.ranges import ByteRange
from adagrain.models.interface.units.statistics import (
    BINS,
    HistogramBin,
    StatisticsBegin,
    StatisticsOpcode,
)
from adagrain.sim.benches.requests import Request
from adagrain.sim.benches.tensor_input.requests import PassRequests

__all__ = ["StatisticsRequests"]


class StatisticsRequests(PassRequests):
    """Passes with and without a histogram, which is read after each."""

    unit = STATISTICS

    def wild(self) -> list[Request]:
        """A pass that is begun, of a tensor longer than a run."""
        rng = self._random
        begin = {
            "count": rng.choice([2**32 - rng.randrange(1, 9), rng.getrandbits(32)]),
            "format": rng.choice(self._configuration.formats),
            "exponent": rng.getrandbits(8),
            "histogram": rng.randrange(2),
            "from_link": rng.randrange(2),
        }
        return [Request(StatisticsOpcode.BEGIN, pack(StatisticsBegin, **begin))]

    def _more(self, from_link: int) -> dict[str, int]:
        if not from_link and not self._configuration.histogram:
            return {}
        return {"histogram": self._random.randrange(2)}

    def _after(self) -> list[Request]:
        first, count = self._random.randrange(BINS), self._entries(size(HistogramBin), 12)
        first = self._random.choice([0, first, max(0, BINS - count)])
        return [Request(StatisticsOpcode.HISTOGRAM, pack(ByteRange, first=first, count=count))]
