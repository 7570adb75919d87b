"""Counts of what did not go as it should."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

__all__ = ["Counts"]


@dataclass
class Counts:
    """Counts since the beginning, of this worker.

    Members
    -------
    overflows : int
        Frames that did not fit into their slots.
    left_out : int
        Elements that were not sent because of that.
    refused : int
        Frames of this worker that were not used: one worker at least could not decode them, or they
        did not hold what they were made of.
    dense_after_refusal : int
        Passes that went uncompressed because a frame had been refused; the same on all workers.
    void : int
        Passes in which an average was not finite; the same on all workers.
    """

    overflows: int = 0
    left_out: int = 0
    refused: int = 0
    dense_after_refusal: int = 0
    void: int = 0

    def add(self, others: "Counts") -> None:
        """Add those of a pass."""
        for name, value in asdict(others).items():
            setattr(self, name, getattr(self, name) + value)

    def state_dict(self) -> dict[str, int]:
        """All of them."""
        return asdict(self)

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Restore what :meth:`state_dict` gave."""
        for name, value in state.items():
            setattr(self, name, value)
