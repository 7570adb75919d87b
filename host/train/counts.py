"""Counters of a worker's device over a whole run, however often that was resumed."""

from collections.abc import Mapping
from typing import Any

from adagrain.host.device.coprocessor import Coprocessor

__all__ = ["Counts"]

#: Counters that add up, and those of which the highest counts.
_SUMS = (
    *("cycles", "elements", "decisions", "encoded", "decoded", "tile_words"),
    *("restored", "fallbacks"),
)
_PEAKS = ("decision_cycles",)


class Counts:
    """Adds up a device's counters.

    Devices begin with 0, those that take the place of one that failed too.

    Parameters
    ----------
    device : Coprocessor
        The worker's.
    """

    def __init__(self, device: Coprocessor) -> None:
        self._device = device
        self._seen = dict.fromkeys((*_SUMS, *_PEAKS), 0)
        self._total = dict(self._seen)

    def read(self) -> dict[str, int]:
        """All that was counted so far, by the counter's name."""
        now = self._device.counters()
        for name in _SUMS:
            before = self._seen[name] if now[name] >= self._seen[name] else 0
            self._total[name] += now[name] - before
        for name in _PEAKS:
            self._total[name] = max(self._total[name], now[name])
        self._seen = now
        return dict(self._total)

    def resume(self, total: Mapping[str, Any]) -> None:
        """Go on from what :meth:`read` gave in an earlier part of the run.

        What the device has counted by now was for restoring it, and does not count.
        """
        self._seen = self._device.counters()
        self._total = {name: total.get(name, 0) for name in self._total}
