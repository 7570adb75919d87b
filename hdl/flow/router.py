"""Progress of nextpnr's router, from its log."""

import re
from collections.abc import Callable

__all__ = ["Congestion"]

#: A round of `router2`: those before may have put two nets on one wire, which must end.
_ROUND = re.compile(r"\biter=(\d+) .*?\boverused=(\d+)\b")


class Congestion:
    """Wires that two nets want, round by round of nextpnr's `router2`.

    Other routers say nothing of it.

    Parameters
    ----------
    progress : callable
        Called with what each round came to.
    seed : int
        Of the placement, which is said with it.
    """

    def __init__(self, progress: Callable[[str], None], seed: int) -> None:
        self._progress, self._seed = progress, seed
        self._fewest: int | None = None

    def __call__(self, line: str) -> bool:
        """True for a line of the log that is a round with fewer such wires than any before."""
        found = _ROUND.search(line)
        if found is None:
            return False
        overused = int(found[2])
        self._progress(
            f"routing, seed {self._seed}, round {found[1]}: {overused} wires that two nets want"
        )
        better = self._fewest is None or overused < self._fewest
        if better:
            self._fewest = overused
        return better
