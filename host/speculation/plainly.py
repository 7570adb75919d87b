"""Modes of PyTorch that an update must not be computed in."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from adagrain.models.numerics.surroundings import without_autocast

__all__ = ["plainly"]


@contextmanager
def plainly() -> Iterator[None]:
    """Put autocast and inference mode aside. Also a decorator.

    An update is applied whenever it has arrived, be it within a closure or an evaluation that has
    turned them on: it must be the same, and leave tensors that training can go on with.
    """
    with torch.inference_mode(False), without_autocast():
        yield
