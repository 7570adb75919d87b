"""Random requests for the precision controller: records, updates, and reads."""

from adagrain.models.interface.records import pack, size
from adagrain.models.interface.units.precision_controller import (
    PrecisionOpcode,
    PrecisionRecord,
    PrecisionUpdate,
)
from adagrain.models.interface.units.ranges import First
from adagrain.sim.benches.requests import Kinds, Request, Requests

from .traffic import record, update

__all__ = ["PrecisionRequests"]


class PrecisionRequests(Requests):
    """Records and updates of them, also at the table's end."""

    def kinds(self) -> Kinds:
        return {self._exchange: 2}

    def _exchange(self) -> list[Request]:
        channel_groups = self._configuration.regions
        near_end = max(0, channel_groups - 2)
        first = self._random.choice([self._random.randrange(channel_groups), near_end])
        records = [record(self._random) for _ in range(self._random.randrange(4))]
        updates = []
        for number, raw in enumerate(records[: channel_groups - first]):
            own = first + number
            told = self._random.choice([own, own, 0xFFFF, channel_groups])
            updates.append(pack(PrecisionUpdate, **update(self._random, told, raw)))
        wanted = self._range(channel_groups, size(PrecisionRecord), 4)
        return [
            Request(PrecisionOpcode.WRITE, pack(First, first=first) + b"".join(records)),
            Request(PrecisionOpcode.STEP, b"".join(updates)),
            Request(PrecisionOpcode.READ, wanted),
        ]
