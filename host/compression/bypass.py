"""Bypass: gradients go uncompressed, as BF16, where compression gains little, on all workers."""

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Bypass", "Decision", "Times"]

#: The first decisions come after so many passes, further ones each time after so many.
_EARLY, _LATE = (2, 16, 128), 1024

#: A change must save this part of the time at least.
_SAVED = 0.1


class Times(NamedTuple):
    """Microseconds of the slowest worker, in one pass.

    Members
    -------
    coding : int
        Masks, frames and back.
    gather : int
        All-gather of the slots.
    dense : int
        All-reduce of all elements as BF16.
    elsewhere : int
        All that is between the exchanges of two passes.
    """

    coding: int
    gather: int
    dense: int
    elsewhere: int

    @property
    def compressed(self) -> int:
        """Of a compressed pass, and what is around it."""
        return self.elsewhere + self.coding + self.gather

    @property
    def uncompressed(self) -> int:
        """Of an uncompressed one; that it overlaps with the backward pass is not considered."""
        return self.elsewhere + self.dense


class Decision(NamedTuple):
    """A decision, with what it followed from.

    Members
    -------
    number : int
        The first pass that it holds for, counted from 0.
    bypass : bool
        Gradients go uncompressed.
    times : Times
        What was measured.
    """

    number: int
    bypass: bool
    times: Times


class Bypass:
    """Decides from times that all workers have in common.

    Parameters
    ----------
    mode : str or mapping
        As ``bypass`` of :class:`~.options.CompressionOptions`.
    worth : float
        As that of these options.

    Members
    -------
    decisions : list of Decision
        All that were made.
    """

    def __init__(self, mode: str | Mapping[int, bool], worth: float) -> None:
        self.decisions: list[Decision] = []
        self._mode = mode
        self._worth = worth
        self._active = mode == "always"
        self._refused = False

    @property
    def is_automatic(self) -> bool:
        """True if decisions are made; states of others know no time, so that they can be equal."""
        return self._mode == "auto"

    @property
    def record(self) -> dict[int, bool]:
        """The decisions as the option ``bypass`` takes them, to repeat a run."""
        return {made.number: made.bypass for made in self.decisions}

    def active(self, number: int) -> bool:
        """True if a pass goes uncompressed; the two in front of a decision do not.

        What masks know is of the pass before; so the last of these is like any other.
        """
        if isinstance(self._mode, Mapping):
            past = [first for first in self._mode if first <= number]
            return bool(past) and self._mode[max(past)] and not _is_measured(number)
        return self._active and not (self.is_automatic and _is_measured(number))

    def refused(self) -> None:
        """A frame did not count: the next pass that begins goes uncompressed, whatever it is."""
        self._refused = True

    def begins(self, number: int) -> tuple[bool, bool]:
        """True if a pass that begins goes uncompressed; and true if only for a refused frame."""
        refused, self._refused = self._refused, False
        active = self.active(number)
        return active or refused, refused and not active

    def decides(self, number: int) -> bool:
        """True if there is a decision behind a pass."""
        return self.is_automatic and _decides(number)

    def decide(self, first: int, times: Times) -> None:
        """Decide behind a pass; the decision holds from another one on, counted from 0."""
        now, other = self._worth * times.compressed, float(times.uncompressed)
        if self._active:
            now, other = other, now
        if other < (1 - _SAVED) * now:
            self._active = not self._active
        self.decisions.append(Decision(first, self._active, times))

    def state_dict(self) -> dict[str, Any]:
        """State for a resumed run."""
        rows = [(made.number, made.bypass, tuple(made.times)) for made in self.decisions]
        return {"active": self._active, "refused": self._refused, "decisions": rows}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave; a mode that is no ``"auto"`` stays in force."""
        if self.is_automatic:
            self._active = state["active"]
        self._refused = state["refused"]
        self.decisions = [
            Decision(number, bypass, Times(*times)) for number, bypass, times in state["decisions"]
        ]


def _is_measured(number: int) -> bool:
    return _decides(number) or _decides(number + 1)


def _decides(number: int) -> bool:
    done = number + 1
    return done in _EARLY or done % _LATE == 0
