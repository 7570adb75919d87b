"""The learning rate of regions that accumulated several steps."""

from collections.abc import Mapping
from typing import Any

__all__ = ["rate_at"]


def rate_at(group: Mapping[str, Any], cadence: int, cap: float) -> dict[str, Any]:
    """The learning rate of a group of options for regions that accumulated c steps.

    It is ``lr · min(c, max(1, cap / lr))``: c steps' worth, up to the rate ``cap``. (Multirate
    training, Vlaar and Leimkuhler 2022, without a cap, diverges at high rates.)

    Parameters
    ----------
    group : mapping
        Options of an optimizer's group, with its ``lr`` if it has one.
    cadence : int
        c.
    cap : float
        Highest rate that a cadence above 1 may reach.

    Returns
    -------
    dict
        The group's ``lr``, where another one takes its place.
    """
    rate = group.get("lr")
    if rate is None or cadence == 1 or float(rate) == 0:
        return {}
    return {"lr": rate * min(cadence, max(1.0, cap / float(rate)))}
