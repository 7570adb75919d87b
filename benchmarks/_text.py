"""A small transformer that predicts the characters of a text, for benchmarks of precision."""

import pydoc_data.topics

import torch
from torch import nn
from torch.nn import functional

__all__ = ["BATCH", "CharTransformer", "batch_of", "text"]

#: Characters that a prediction sees, windows in a batch.
CONTEXT, BATCH = 64, 16

_WIDTH, _HEADS, _BLOCKS = 64, 4, 2

#: Part of the text that is held out.
_HELD_OUT = 0.1


def text() -> tuple[torch.Tensor, torch.Tensor, int]:
    """Python's own help texts as numbers of characters: training part, held out part, alphabet."""
    topics = pydoc_data.topics.topics
    characters = "".join(topics[name] for name in sorted(topics))
    alphabet = {character: number for number, character in enumerate(sorted(set(characters)))}
    numbers = torch.tensor([alphabet[character] for character in characters])
    cut = int(len(numbers) * (1 - _HELD_OUT))
    return numbers[:cut], numbers[cut:], len(alphabet)


def batch_of(
    numbers: torch.Tensor, windows: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Windows at random places, and the characters that follow each of theirs."""
    starts = torch.randint(len(numbers) - CONTEXT - 1, (windows, 1), generator=generator)
    places = starts + torch.arange(CONTEXT)
    return numbers[places], numbers[places + 1]


class CharTransformer(nn.Module):
    """Two blocks of width 64, pre-normalised, causal."""

    def __init__(self, alphabet: int) -> None:
        super().__init__()
        self.characters = nn.Embedding(alphabet, _WIDTH)
        self.places = nn.Embedding(CONTEXT, _WIDTH)
        self.blocks = nn.Sequential(*(_Block() for _ in range(_BLOCKS)))
        self.norm = nn.LayerNorm(_WIDTH)
        self.output = nn.Linear(_WIDTH, alphabet)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        """Logits of the next character at each place."""
        x = self.characters(numbers) + self.places.weight[: numbers.shape[1]]
        return self.output(self.norm(self.blocks(x)))


class _Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(_WIDTH), nn.LayerNorm(_WIDTH)
        self.attend, self.mix = nn.Linear(_WIDTH, 3 * _WIDTH), nn.Linear(_WIDTH, _WIDTH)
        self.widen, self.narrow = nn.Linear(_WIDTH, 4 * _WIDTH), nn.Linear(4 * _WIDTH, _WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape = (*x.shape[:2], 3, _HEADS, _WIDTH // _HEADS)
        query, key, value = self.attend(self.norm1(x)).view(shape).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.mix(seen.transpose(1, 2).reshape(x.shape))
        return x + self.narrow(functional.gelu(self.widen(self.norm2(x))))
