"""Warnings that repeat: told once, and then now and then, with their number."""

import logging
from collections import Counter
from collections.abc import Hashable

__all__ = ["RepeatedWarnings"]

#: A warning is told when it has come so often, and each time that this is many times more.
_FACTOR = 10


class RepeatedWarnings:
    """Counts warnings, and logs the 1st, 10th, 100th … of each kind.

    Parameters
    ----------
    log : logging.Logger
        Where they go.
    quiet : bool
        Count only, as workers do that would say the same as another one.
    """

    def __init__(self, log: logging.Logger, *, quiet: bool = False) -> None:
        self._log = log
        self._quiet = quiet
        self._counts: Counter[Hashable] = Counter()
        self._next: Counter[Hashable] = Counter()

    def warn(self, kind: Hashable, text: str) -> None:
        """Tell of something once more, or only count it."""
        self._counts[kind] += 1
        if self._counts[kind] < self._next[kind]:
            return
        self._next[kind] = max(1, self._next[kind]) * _FACTOR
        if not self._quiet:
            self._log.warning("%s%s", text, self._numbered(kind))

    def _numbered(self, kind: Hashable) -> str:
        count = self._counts[kind]
        return f" (the {count}th time)" if count > 1 else ""
