"""Elements and bits of each region, counted until somebody asks."""

from collections.abc import Iterable

from adagrain.host.distributed.sent import Sent

__all__ = ["Tally"]


class Tally:
    """Counts elements and bits of each region."""

    def __init__(self) -> None:
        self._sent: dict[int, Sent] = {}

    def add(self, sent: Iterable[tuple[int, Sent]]) -> None:
        """Count what has been sent of some regions, each perhaps more than once."""
        for region, own in sent:
            before = self._sent.get(region)
            self._sent[region] = own if before is None else own.plus(before)

    def take(self) -> dict[int, Sent]:
        """Take the counts since the last call, by region."""
        taken, self._sent = self._sent, {}
        return taken
