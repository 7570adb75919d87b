"""Samples of tensors: elements evenly apart, which stand for all."""

from dataclasses import dataclass

import numpy as np
import torch
from numba import njit

from adagrain.models.statistics import EXPONENT_BIAS, unbiased
from adagrain.models.statistics.energy_kernel import ENERGIES, S2, add_energy
from adagrain.models.statistics.kernel import all_scales

__all__ = ["Sampled", "sample_of", "sampled"]

#: Elements of a tensor that are looked at, at most.
_SAMPLE = 4096

_WORD = np.int32(0x7FFFFFFF)
_LOWEST, _HIGHEST = (unbiased(field) + EXPONENT_BIAS for field in (0, 255))


@dataclass(frozen=True)
class Sampled:
    """Energy of a sample at the largest exponent among its elements.

    Members
    -------
    s2 : int
        Sum of the squares of the quantised elements, those that are not finite left out.
    count : int
        How many elements it has.
    exponent : int
        The exponent, biased.
    """

    s2: int
    count: int
    exponent: int


def sample_of(flat: torch.Tensor) -> torch.Tensor:
    """Elements of a tensor of one dimension, evenly apart, 4096 at most; a view."""
    return flat[:: -(-len(flat) // _SAMPLE)]


def sampled(flat: torch.Tensor, sizes: tuple[int, ...]) -> list[Sampled]:
    """Energies of :func:`sample_of` parts of a tensor, as ``statistics`` finds them.

    Parameters
    ----------
    flat : Tensor
        Of one dimension.
    sizes : tuple of int
        Elements of each part, at least 1; one part follows the other.
    """
    found = np.zeros((len(sizes), 3), dtype=np.int64)
    _look(flat.detach().float().cpu().contiguous().numpy(), np.array(sizes), all_scales(), found)
    return [Sampled(*row) for row in found.tolist()]


@njit(cache=True, nogil=True)
def _look(flat, sizes, scales, found):  # pragma: no cover - compiled
    sample, energy = np.empty(_SAMPLE, dtype=np.float32), np.empty(ENERGIES, dtype=np.int64)
    start = 0
    for part in range(sizes.size):
        step = -(-sizes[part] // _SAMPLE)
        count, largest = 0, np.int32(0)
        for place in range(start, start + sizes[part], step):
            sample[count] = flat[place]
            count += 1
        start += sizes[part]
        for word in sample[:count].view(np.int32):
            largest = max(largest, np.int32(word & _WORD))
        exponent = min(max(np.int64(largest >> 23), _LOWEST), _HIGHEST)
        energy[:] = 0
        add_energy(sample[:count], exponent, scales[exponent], energy)
        found[part, 0], found[part, 1], found[part, 2] = energy[S2], count, exponent
