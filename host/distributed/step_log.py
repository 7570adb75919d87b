"""Log of a step."""

from dataclasses import dataclass

from .agreement import Agreed
from .flown import Flown
from .sent import Sent

__all__ = ["StepLog"]


@dataclass(frozen=True)
class StepLog:
    """Values that the workers agreed on in a step, and decisions.

    Parameters
    ----------
    step : int
        Number of the step, from 0.
    agreed : Agreed
        The sums over the workers.
    updates, decisions : dict of str to dict
        Fields of ``RegionUpdate`` and ``Decision`` by region, for those that were due.
    units : dict of str to float
        Squared gradient that one unit of a region's energies stands for.
    dropped : tuple of str
        Regions whose update was dropped, because a gradient was not finite.
    sent : dict of str to Sent, or None
        What this worker has sent of the regions that were due; ``None`` where regions go whole.
    bytes_sent : int
        Bytes of gradients that this worker has put into collectives, in all steps so far.
    flown : Flown or None
        Times of this worker, where steps are speculative.
    """

    step: int
    agreed: Agreed
    updates: dict[str, dict[str, int]]
    decisions: dict[str, dict[str, int]]
    units: dict[str, float]
    dropped: tuple[str, ...]
    sent: dict[str, Sent] | None
    bytes_sent: int
    flown: Flown | None = None
