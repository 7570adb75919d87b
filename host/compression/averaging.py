"""Averages of what the workers have sent, and which of them are of use."""

from collections.abc import Sequence

import torch

from .layout import Layout
from .rounding import added, averaged, is_finite

__all__ = ["average_of_frames", "void_regions"]


def average_of_frames(
    sent: Sequence[torch.Tensor | None], workers: int, elements: int
) -> torch.Tensor:
    """The sum in rank order, in FP32, multiplied by 1/W.

    Parameters
    ----------
    sent : sequence of Tensor or None
        What each worker has sent, BF16; ``None`` for one that does not count.
    workers : int
        W, whoever counts.
    elements : int
        Of each.
    """
    counting = [own for own in sent if own is not None]
    if not counting:
        return torch.zeros(elements, dtype=torch.float32)
    first, *others = counting
    into = torch.empty(elements, dtype=torch.float32)
    total = averaged(first, 1 if others else workers, into)
    for number, own in enumerate(others, 1):
        added(own, workers if number == len(others) else 1, total)
    return total


def void_regions(layout: Layout, average: torch.Tensor) -> set[int]:
    """Regions of an exchange that have an average which is not finite."""
    if is_finite(average):
        return set()
    rows = zip(layout.keys, layout.parts(average), strict=True)
    return {region for (region, _), part in rows if not part.isfinite().all()}
