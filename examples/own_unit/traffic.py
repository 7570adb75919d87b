"""Tensors for the unit, and the golden model's records."""

from random import Random
from typing import Any

import numpy as np
import torch

from adagrain.sim.simulators.stimulus import Stimulus, random_elements

from .descriptor import LargeBegin
from .gateware import Large
from .twin import large

__all__ = ["random_passes"]

#: Longest tensor.
LONGEST = 60


def random_passes(unit: Large, count: int, generator: Random) -> Stimulus:
    """So many passes back to back, over elements of any bits."""
    begins, beats, records = [], [], []
    for _ in range(count):
        words = [generator.getrandbits(32) for _ in range(generator.randint(1, LONGEST))]
        threshold = _threshold(words, generator)
        begins.append(_begin(threshold, generator))
        beats += _beats(unit, words, generator)
        x = torch.from_numpy(np.array(words, dtype=np.uint32).view(np.float32))
        records.append({"count": len(words), "large": large(x, threshold)})
    return Stimulus({"i_begin": begins, "i": beats}, {"o": records})


def _threshold(words: list[int], generator: Random) -> int:
    """Any positive FP32 word, or the magnitude of an element: this one is just not small."""
    word = generator.choice([generator.getrandbits(32), generator.choice(words)])
    return word & 0x7FFF_FFFF


def _begin(threshold: int, generator: Random) -> dict[str, int]:
    """The record that begins a pass; the unit does not look at the other fields."""
    (noise,) = random_elements(LargeBegin, 1, generator)
    return {**noise, "threshold": threshold}


def _beats(unit: Large, words: list[int], generator: Random) -> list[dict[str, Any]]:
    """Elements in beats; noise in lanes that hold none."""
    found = []
    for start in range(0, len(words), unit.lanes):
        some = words[start : start + unit.lanes]
        noise = [generator.getrandbits(32) for _ in range(unit.lanes - len(some))]
        keep, last = (1 << len(some)) - 1, int(start + unit.lanes >= len(words))
        found.append({"data": some + noise, "keep": keep, "last": last})
    return found
