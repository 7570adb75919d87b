"""Random elements for a queue."""

from random import Random

from adagrain.hdl.stream.queue import Queue
from adagrain.sim.simulators.stimulus import Stimulus, random_elements

__all__ = ["stimulus"]


def stimulus(unit: Queue, count: int, generator: Random) -> Stimulus:
    """So many elements, which leave as they come."""
    elements = random_elements(unit.i.payload.shape(), count, generator)
    return Stimulus({"i": elements}, {"o": elements})
