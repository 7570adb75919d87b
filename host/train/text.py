"""A text that every Python has, as numbers of characters: its own help on the language."""

import pydoc_data.topics
from functools import cache

import torch

__all__ = ["CONTEXT", "text", "windows"]

#: Characters that a prediction sees, at most.
CONTEXT = 64

#: Part of the text that is held out.
_HELD_OUT = 0.1


@cache
def text() -> tuple[torch.Tensor, torch.Tensor, int]:
    """Training part and held out part, int64 of one dimension, and the size of the alphabet."""
    topics = pydoc_data.topics.topics
    characters = "".join(topics[name] for name in sorted(topics))
    alphabet = {character: number for number, character in enumerate(sorted(set(characters)))}
    numbers = torch.tensor([alphabet[character] for character in characters])
    cut = int(len(numbers) * (1 - _HELD_OUT))
    return numbers[:cut], numbers[cut:], len(alphabet)


def windows(numbers: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """All windows, one behind the other, and the characters that follow each of theirs.

    Parameters
    ----------
    numbers : Tensor
        A part of the text.

    Returns
    -------
    tuple of Tensor
        int64, both ``(windows, CONTEXT)``; what is left at the end is left out.
    """
    used = (len(numbers) - 1) // CONTEXT * CONTEXT
    return numbers[:used].view(-1, CONTEXT), numbers[1 : used + 1].view(-1, CONTEXT)
