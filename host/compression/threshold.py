"""The mask of large magnitudes: one threshold over the whole model, and no sort."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from adagrain.models.numerics.half_binades import HALF_BINADES, LOW_BITS, half_binades, reaching

from .layout import Key, Layout

__all__ = ["HardThreshold", "threshold_for"]

#: The bits of the largest finite magnitude: all that is not finite is above any threshold.
_LARGEST = 0x7F7FFFFF

#: What stands for no element, where its logarithm is asked for.
_NONE = 0.5


class HardThreshold:
    """Sends what is at least as large as a threshold, which is the same for all parameters.

    It follows from how many magnitudes each half binade has: of this exchange now, of all other
    parameters when they were exchanged last. With ``lagging`` it follows from the pass before
    alone, as a device needs it that sees each element once; since the gradient of a pass and the
    residual that the one before has left decide on v, its frames differ in length more.

    Parameters
    ----------
    lagging : bool
        Take the threshold from the pass before. In the first pass, and behind one that masked
        nothing, each exchange has that of its own elements.

    Members
    -------
    threshold : float or None
        The last one, or with ``lagging`` the next; ``None`` where there is none.
    """

    def __init__(self, *, lagging: bool = False) -> None:
        self.threshold: float | None = None
        self._lagging = lagging
        self._counts: dict[Key, np.ndarray] = {}
        self._used = False

    def keep(self, v: torch.Tensor, layout: Layout, density: float) -> torch.Tensor:
        """As :meth:`Mask.keep`."""
        own = half_binades(v, layout.sizes)
        self._counts |= zip(layout.keys, own, strict=True)
        self._used = True
        threshold = self.threshold
        if not self._lagging:
            threshold = self.threshold = self._common(density)
        elif threshold is None:
            threshold = threshold_for(own.sum(axis=0), density)
        return reaching(v, threshold)

    def end_pass(self, density: float) -> None:
        """As :meth:`Mask.end_pass`."""
        if not self._used:
            self.threshold, self._counts = None, {}
        elif self._lagging:
            self.threshold = self._common(density)
        self._used = False

    def _common(self, density: float) -> float:
        return threshold_for(np.sum([*self._counts.values()], axis=0), density)

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
    A density that asks for less than one element lets about one through, since otherwise nothing
    would ever be sent.

    Parameters
    ----------
    counts : ndarray of int64, (512,)
        How many there are in each half binade.
    density : float
        Above 0; from 1 on all are sent, and the threshold is 0.
    """
    elements = counts.sum()
    if density >= 1.0 or not elements:
        return 0.0
    wanted = max(1.0, density * elements)
    reached = np.cumsum(counts[::-1])
    down = int(np.searchsorted(reached, wanted))
    lower = int(reached[down])
    upper = max(lower - int(counts[HALF_BINADES - 1 - down]), _NONE)
    part = np.log(lower / max(wanted, upper)) / np.log(lower / upper)
    bits = (HALF_BINADES - 1 - down << LOW_BITS) + round(part * (1 << LOW_BITS))
    return float(np.uint32(min(bits, _LARGEST)).view(np.float32))
