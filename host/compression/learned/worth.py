"""Worth of the energy of each bin, told from probes of what all workers want.

A probe averages some elements of this pass's gradient over all workers, dense. To first order, to
send an element v moves the loss in proportion to v·ḡ. So a bin's energy is worth
max(Σ v·ḡ, 0) / Σ v², and 1 where all workers have just this gradient. Times the region's weight:
how much the loss still falls in the pass behind the probe along what was applied, ⟨g, ā⟩ / |ā|² of
this worker, against that of all regions. Both are averaged over probes.

The optimizer is not seen: its momentum, or a rate for each element, changes what a step is.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from adagrain.host.compression.layout import Key, Layout
from adagrain.models.interface.units.statistics import BINS
from adagrain.models.numerics.half_binades import LOW_BITS

from .last import Last

__all__ = ["Worth"]

#: What is left of older probes when one is added.
_LEFT = 0.5

#: Elements at which a bin's own worth counts as much as that of its region.
_SHRINK = 8.0

#: Elements of a share that are looked at in any case, if it has them.
_AT_LEAST = 64

#: Ends of a region's weight.
_LEAST, _MOST = 0.25, 4.0


class _Taken(NamedTuple):
    """A share in a probe: its places, and what there is to send at these."""

    key: Key
    places: slice
    gradient: torch.Tensor


class Worth:
    """Worth of each region's bins.

    Parameters
    ----------
    passes : int
        Passes between probes; 0 for none.
    every : int
        A probe has each so many-th element; of small shares more.
    """

    def __init__(self, passes: int, every: int) -> None:
        self._passes = passes
        self._every = every
        self._sums: dict[Key, torch.Tensor] = {}
        self._falls: dict[Key, torch.Tensor] = {}
        self._applied: dict[Key, tuple[torch.Tensor, torch.Tensor]] = {}
        self._taken: list[_Taken] = []
        self._values: dict[Key, torch.Tensor] = {}
        self._last = Last(self._of)

    def look(self, number: int, layout: Layout, gradient: torch.Tensor) -> None:
        """Say what this worker's gradient is, in a pass."""
        if not self._applied and not self._probes(number):
            return
        for key, own in zip(layout.keys, layout.parts(gradient), strict=True):
            if key in self._applied:
                at, values = self._applied.pop(key)
                found = torch.stack([own[at].float() @ values, values @ values])
                if found.isfinite().all():
                    self._add(self._falls, key, found.double().cpu())
            if self._probes(number):
                places = self._places(number, len(own))
                self._taken.append(_Taken(key, places, own[places].bfloat16()))

    def values(self, layout: Layout, v: torch.Tensor) -> None:
        """Say what there is to send."""
        if not self._taken:
            return
        wanted = {taken.key: taken.places for taken in self._taken}
        for key, own in zip(layout.keys, layout.parts(v), strict=True):
            if key in wanted:
                self._values[key] = own[wanted[key]].detach().to("cpu", copy=True)

    def sample(self) -> torch.Tensor | None:
        """Elements to average over the workers, if there is a probe in this pass."""
        return torch.cat([taken.gradient for taken in self._taken]) if self._taken else None

    def probed(self, average: torch.Tensor, bases: Mapping[Key, int]) -> None:
        """Take the average; of shares that have a base, from which their bins are counted."""
        taken, self._taken = self._taken, []
        parts = average.cpu().float().split([len(own.gradient) for own in taken])
        for own, part in zip(taken, parts, strict=True):
            v = self._values.pop(own.key, None)
            if v is not None and v.isfinite().all() and part.isfinite().all():
                self._add(self._sums, own.key, _sums(v, part, bases[own.key]))

    def applied(self, number: int, layout: Layout, average: torch.Tensor) -> None:
        """Say what was applied, so that the pass behind a probe can tell what it was good for."""
        if self._probes(number):
            for key, own in zip(layout.keys, layout.parts(average), strict=True):
                places = own.nonzero().flatten()
                if len(places):
                    self._applied[key] = places, own[places].clone()

    def forget(self) -> None:
        """Forget what the pass before applied: this one masked nothing."""
        self._applied = {}

    def of(self, keys: Sequence[Key]) -> np.ndarray:
        """Worth of the bins of some shares, (shares, 64)."""
        return self._last.of(keys)

    def state_dict(self) -> dict[str, Any]:
        """State for a resumed run."""
        return {name: {**getattr(self, f"_{name}")} for name in ("sums", "falls", "applied")}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""
        self._sums, self._falls, self._applied = (
            {**state[name]} for name in ("sums", "falls", "applied")
        )
        self._last.forget()

    def _of(self, keys: Sequence[Key]) -> np.ndarray:
        mean = sum(self._falls.values(), torch.zeros(2, dtype=torch.float64)).tolist()
        return np.stack([self._bins(key) * self._weight(key, mean) for key in keys])

    def _probes(self, number: int) -> bool:
        return self._passes > 0 and number % self._passes == 0

    def _places(self, number: int, size: int) -> slice:
        """Evenly apart, others in each probe; the same on all workers."""
        every = min(self._every, max(size // _AT_LEAST, 1))
        return slice(number // self._passes % every, None, every)

    def _bins(self, key: Key) -> np.ndarray:
        if key not in self._sums:
            return np.ones(BINS)
        counts, energies, products = self._sums[key].numpy()
        whole = max(products.sum(), 0.0) / max(energies.sum(), np.finfo(float).tiny)
        own = products / np.where(energies > 0, energies, 1.0)
        return np.maximum((counts * own + _SHRINK * whole) / (counts + _SHRINK), 0.0)

    def _weight(self, key: Key, mean: list[float]) -> float:
        fall, energy = self._falls[key].tolist() if key in self._falls else (0.0, 0.0)
        if energy <= 0 or mean[0] <= 0:
            return 1.0
        return min(max(fall / energy / (mean[0] / mean[1]), _LEAST), _MOST)

    def _add(self, to: dict[Key, torch.Tensor], key: Key, found: torch.Tensor) -> None:
        to[key] = found + _LEFT * to[key] if key in to else found
        self._last.forget()


def _sums(v: torch.Tensor, average: torch.Tensor, base: int) -> torch.Tensor:
    """By bin: elements, Σ v², Σ v·ḡ; float64, (3, 64)."""
    half_binades = (v.view(torch.int32) & 0x7FFFFFFF) >> LOW_BITS
    bins = (2 * base + 1 - half_binades).clamp_(0, BINS - 1).numpy()
    wide, other = v.double().numpy(), average.double().numpy()
    rows = (wide != 0).astype(float), wide**2, wide * other
    return torch.from_numpy(np.stack([np.bincount(bins, own, BINS) for own in rows]))
