"""Parameters in no region, those of controllers, and the updates that they wait for."""

from typing import Any

from torch import nn

from .flight import Flight
from .plainly import plainly

__all__ = ["Apart"]


class Apart:
    """Updates parameters in no region by flights that have landed, in the order of their steps.

    Modules of controllers may have a method ``hold``, which keeps parameters within their bounds.
    It is called behind each update: so the parameters do not depend on when an update is applied,
    which may be another time on a worker that settles.

    Parameters
    ----------
    model : nn.Module
        The model.
    """

    def __init__(self, model: nn.Module) -> None:
        controllers = [own for own in model.modules() if not getattr(own, "in_regions", True)]
        self._holding: list[Any] = [own for own in controllers if hasattr(type(own), "hold")]
        self._landed: list[Flight] = []

    def land(self, flight: Flight) -> None:
        """Say that a flight has landed; those before it have, too."""
        self._landed.append(flight)

    def update(self, last: int | None = None) -> None:
        """Update by all steps that have landed, or by those up to a number."""
        while self._landed and (last is None or self._landed[0].step.number <= last):
            self._apply(self._landed.pop(0))

    @plainly()
    def _apply(self, flight: Flight) -> None:
        for parameter, gradient in flight.apart.items():
            parameter.grad = gradient
        flight.replay.update([*flight.apart])
        for parameter in flight.apart:
            parameter.grad = None
        for module in self._holding:
            module.hold()
