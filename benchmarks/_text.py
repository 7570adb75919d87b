"""The transformer of characters as benchmarks take it, and batches at random."""

import torch
from torch import nn

from adagrain.host.train.text import CONTEXT, text
from adagrain.host.train.transformer import CharTransformer

__all__ = ["BATCH", "Transformer", "batch_of"]

#: Windows in a batch.
BATCH = 16


def batch_of(
    numbers: torch.Tensor, windows: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Windows at random places, and the characters that follow each of theirs."""
    starts = torch.randint(len(numbers) - CONTEXT - 1, (windows, 1), generator=generator)
    places = starts + torch.arange(CONTEXT)
    return numbers[places], numbers[places + 1]


class Transformer(nn.Module):
    """Four blocks; its logits as cross entropy takes them.

    Parameters
    ----------
    width : int
        Numbers of each place; with 128 there are 0.8M parameters.
    """

    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.network = CharTransformer(text()[2], width=width, blocks=4)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        return self.network(numbers).transpose(1, 2)
