"""Batches of characters at random, for benchmarks."""

import torch

from adagrain.host.train.text import CONTEXT

__all__ = ["BATCH", "batch_of"]

#: Windows in a batch.
BATCH = 16


def batch_of(
    numbers: torch.Tensor, windows: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Windows at random places, and the characters that follow each of theirs."""
    starts = torch.randint(len(numbers) - CONTEXT - 1, (windows, 1), generator=generator)
    places = starts + torch.arange(CONTEXT)
    return numbers[places], numbers[places + 1]
