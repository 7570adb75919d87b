"""The mask of large magnitudes: one threshold over the whole model, and no sort."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from adagrain.models.numerics.half_binades import HALF_BINADES, LOW_BITS, half_binades

from .layout import Key, Layout

__all__ = ["HardThreshold", "threshold_for"]

#: The bits of the largest finite magnitude: all that is not finite is above any threshold.
_LARGEST = 0x7F7FFFFF

#: What stands for no element, where its logarithm is asked for.
_NONE = 0.5


class HardThreshold:
    """Sends what is at least as large as a threshold, which is the same for all parameters.

    The threshold follows from how many magnitudes each half binade had in the pass before; so a
    look at each element is all that it takes. What a parameter had counts until it is exchanged
    again. In the first pass, and behind one that masked nothing, each exchange has the threshold
    of its own elements.

    Members
    -------
    threshold : float or None
        The one in force; ``None`` where each exchange has its own.
    """

    def __init__(self) -> None:
        self.threshold: float | None = None
        self._counts: dict[Key, np.ndarray] = {}
        self._used = False

    def keep(self, v: torch.Tensor, layout: Layout, density: float) -> torch.Tensor:
        """As :meth:`Mask.keep`."""
        counts = half_binades(v, layout.sizes)
        self._counts |= zip(layout.keys, counts, strict=True)
        self._used = True
        threshold = self.threshold
        if threshold is None:
            threshold = threshold_for(counts.sum(axis=0), density)
        return (v.abs() < threshold).logical_not_()

    def end_pass(self, density: float) -> None:
        """As :meth:`Mask.end_pass`."""
        if self._used:
            self.threshold = threshold_for(np.sum([*self._counts.values()], axis=0), density)
        else:
            self.threshold = None
        self._used = False

    def state_dict(self) -> dict[str, Any]:
        """As :meth:`Mask.state_dict`."""
        counts = {key: torch.from_numpy(own.copy()) for key, own in self._counts.items()}
        return {"threshold": self.threshold, "counts": counts}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As :meth:`Mask.load_state_dict`."""
        self.threshold = state["threshold"]
        self._counts = {key: own.numpy().copy() for key, own in state["counts"].items()}


def threshold_for(counts: np.ndarray, density: float) -> float:
    """The magnitude that this part of all elements reaches, as nearly as half binades tell.

    Within a half binade, the number of elements above a magnitude is taken to fall exponentially.
    Density 1 is that of 0.

    Parameters
    ----------
    counts : ndarray of int64, (512,)
        How many there are in each half binade.
    density : float
        From 0 to 1.
    """
    wanted = density * counts.sum()
    if density >= 1.0 or not wanted:
        return 0.0
    reached = np.cumsum(counts[::-1])
    down = int(np.searchsorted(reached, wanted))
    lower = int(reached[down])
    upper = max(lower - int(counts[HALF_BINADES - 1 - down]), _NONE)
    part = np.log(lower / max(wanted, upper)) / np.log(lower / upper)
    bits = (HALF_BINADES - 1 - down << LOW_BITS) + round(part * (1 << LOW_BITS))
    return float(np.uint32(min(bits, _LARGEST)).view(np.float32))
