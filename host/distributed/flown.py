"""Times of an update that was in flight while the next step was computed."""

from dataclasses import dataclass

__all__ = ["Flown"]


@dataclass(frozen=True)
class Flown:
    """Time of this worker that a speculative step and its update have taken; in seconds.

    Parameters
    ----------
    passes_redone : int
        Passes that were done again in it, because they stood on a rejected guess.
    waited : float
        How long its update was waited for while nothing was computed.
    hidden : float
        How long something else was done after its exchanges had begun, until the last of them was
        seen to have arrived.
    stall : float
        How long the next step lacked its update, whether or not it did something else.
    """

    passes_redone: int
    waited: float
    hidden: float
    stall: float
