"""Status of a run that came to its end: whether what it has trained can be trusted."""

import math
from collections.abc import Sequence
from enum import StrEnum
from statistics import median

from .history import History

__all__ = ["RunStatus", "status_of"]

#: Losses at each end of a run that are compared, and how many times the last ones may be the first.
_WINDOW, _GROWTH = 16, 2.0

#: Part of the updates that may be dropped.
_DROPPED = 0.5


class RunStatus(StrEnum):
    """Status of a run that came to its end."""

    FINISHED = "finished"
    DIVERGED = "diverged"
    DROPPED = "most updates dropped"


def status_of(history: History, *, finite: bool) -> RunStatus:
    """Status of a run, by its log.

    It has diverged where a weight is not finite, or the loss at its end (the median of the last
    16 steps) is not finite, or more than twice what it was at the beginning.

    Parameters
    ----------
    history : History
        All steps.
    finite : bool
        Whether all weights are finite.
    """
    window = max(1, min(_WINDOW, len(history.loss) // 2))
    first, last = (_typical(part) for part in (history.loss[:window], history.loss[-window:]))
    if not finite or not math.isfinite(last) or last > _GROWTH * first:
        return RunStatus.DIVERGED
    if history.dropped > _DROPPED * history.updates:
        return RunStatus.DROPPED
    return RunStatus.FINISHED


def _typical(losses: Sequence[float | None]) -> float:
    return median(math.inf if loss is None else loss for loss in losses) if losses else 0.0
