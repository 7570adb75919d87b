"""Random bytes for a serial line."""

from random import Random

from adagrain.sim.simulators.stimulus import Stimulus

__all__ = ["stimulus"]


def stimulus(count: int, generator: Random) -> Stimulus:
    """So many bytes, which leave as they come."""
    raw = generator.randbytes(count)
    return Stimulus({"i": raw}, {"o": raw})
