"""A small transformer that predicts the characters of a text."""

import torch
from torch import nn
from torch.nn import functional

from .text import CONTEXT

__all__ = ["CharTransformer"]

_HEADS = 4


class CharTransformer(nn.Module):
    """Blocks of attention and perceptron, pre-normalised, causal.

    Parameters
    ----------
    alphabet : int
        Characters that there are.
    width : int
        Numbers of each place; a multiple of 4.
    blocks : int
        How many follow each other.
    """

    def __init__(self, alphabet: int, width: int = 64, blocks: int = 2) -> None:
        super().__init__()
        self.characters = nn.Embedding(alphabet, width)
        self.places = nn.Embedding(CONTEXT, width)
        self.blocks = nn.Sequential(*(_Block(width) for _ in range(blocks)))
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, alphabet)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        """Logits of the next character at each place."""
        x = self.characters(numbers) + self.places.weight[: numbers.shape[1]]
        return self.output(self.norm(self.blocks(x)))


class _Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape = (*x.shape[:2], 3, _HEADS, x.shape[2] // _HEADS)
        query, key, value = self.attend(self.norm1(x)).view(shape).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.mix(seen.transpose(1, 2).reshape(x.shape))
        return x + self.narrow(functional.gelu(self.widen(self.norm2(x))))
