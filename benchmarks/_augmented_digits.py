"""Scikit-learn's digits, made hard and without end: no image is met twice.

Each image is a digit that is shifted by a pixel at most, with a fainter one upon it, in noise.
Which digit it is cannot be told for sure, so that the loss of what is held out stays well above
0, and its relative change can be measured.
"""

from functools import cache

import torch
from torch.nn.functional import pad

from adagrain.host.train.data import Dataset, load

__all__ = ["augmented", "digits", "held_out"]

#: Largest shift in pixels, largest part of the second digit, standard deviation of the noise.
_SHIFT, _SECOND, _NOISE = 1, 0.7, 1.0

#: Images that are held out, and the seed that makes them.
_HELD_OUT, _HELD_OUT_SEED = 4096, 5

Batch = tuple[torch.Tensor, torch.Tensor]


@cache
def digits() -> Dataset:
    """The data set itself."""
    return load("digits")


def augmented(count: int, generator: torch.Generator) -> Batch:
    """Fresh images of digits to train with, and the labels of the clearer ones."""
    return _mixed(digits().inputs, digits().labels, count, generator)


def held_out() -> Batch:
    """Fixed images of digits that are in none to train with, and their labels."""
    generator = torch.Generator().manual_seed(_HELD_OUT_SEED)
    return _mixed(digits().test_inputs, digits().test_labels, _HELD_OUT, generator)


def _mixed(
    images: torch.Tensor, labels: torch.Tensor, count: int, generator: torch.Generator
) -> Batch:
    chosen, second = torch.randint(len(images), (2, count), generator=generator)
    faint = _SECOND * torch.rand((count, 1, 1, 1), generator=generator)
    mixed = _shifted(images[chosen], generator) + faint * _shifted(images[second], generator)
    return mixed + _NOISE * torch.randn(mixed.shape, generator=generator), labels[chosen]


def _shifted(images: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Each by a shift of its own; what comes in is as dark as the darkest pixel."""
    count, _, height, width = images.shape  # of one channel
    padded = pad(images, [_SHIFT] * 4, value=float(images.min()))
    down, right = torch.randint(2 * _SHIFT + 1, (2, count, 1, 1), generator=generator)
    rows = down + torch.arange(height)[:, None]
    columns = right + torch.arange(width)
    return padded[torch.arange(count)[:, None, None], 0, rows, columns][:, None]
