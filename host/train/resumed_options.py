"""Options of a run that goes on."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .options import TrainingOptions

__all__ = ["resumed"]


def resumed(begun: TrainingOptions, given: Mapping[str, Any]) -> TrainingOptions:
    """The options of a run that goes on with others given.

    Parameters
    ----------
    begun : TrainingOptions
        Those that it was begun with.
    given : mapping
        Others, by name.

    Raises
    ------
    ValueError
        If one is given that must be the same, with another value, or fewer steps.
    """
    for name, lasting in begun.binding().items():
        value = given.get(name, lasting)
        if value != lasting:
            raise ValueError(
                f"{name} must be {lasting!r}, as run {begun.name!r} was begun with, not {value!r}"
            )
    made = replace(begun, **given)
    if made.steps < begun.steps:
        raise ValueError(
            f"steps must be at least {begun.steps}, as run {begun.name!r} was begun with, "
            f"not {made.steps}"
        )
    return made
