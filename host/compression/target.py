"""Wanted density of masks: given, or by a budget of bytes; and the warm-up."""

from collections.abc import Mapping
from typing import Any

from .options import CompressionOptions

__all__ = ["SLACK", "Target"]

#: Bytes of a slot for each byte of the longest frame that is known.
SLACK = 1.25

#: Bits of an element that are expected before any was sent.
_FIRST_BITS = 24.0


class Target:
    """The density that is wanted in each pass.

    With a budget it follows from the bits that an element took in the pass before, headers
    included. In a warm-up it falls from pass to pass by one factor.

    Parameters
    ----------
    options : CompressionOptions
        Density or budget, and the warm-up.
    elements : int
        Those of the model.
    """

    def __init__(self, options: CompressionOptions, elements: int) -> None:
        self._options = options
        self._elements = elements
        self._bits = _FIRST_BITS

    def density(self, number: int) -> float:
        """That of a pass, counted from 0."""
        options = self._options
        if options.budget is not None:
            return min(8 * options.budget / SLACK / self._bits / self._elements, 1.0)
        if number >= options.warmup_passes:
            return options.density
        factor = options.density / options.warmup_density
        return options.warmup_density * factor ** (number / options.warmup_passes)

    def first_size(self, number: int, elements: int) -> int:
        """Bytes that a frame of so many elements may be expected to have, at most; roughly.

        The same on all workers.
        """
        if self._options.budget is not None:
            return self._options.budget
        return round(2 * _FIRST_BITS / 8 * self.density(number) * elements)

    @property
    def budget(self) -> int | None:
        """Bytes that no slot exceeds, if there is a budget."""
        return self._options.budget

    def sent(self, frame_bytes: int, elements: int) -> None:
        """Say what a pass has sent, on this worker."""
        if elements:
            self._bits = 8 * frame_bytes / elements

    def state_dict(self) -> dict[str, Any]:
        """State of this worker for a resumed run."""
        return {"bits": self._bits}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""
        self._bits = state["bits"]
