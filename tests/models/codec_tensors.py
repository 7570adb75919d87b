"""Tensors for the tests of the codec, by their words."""

import numpy as np
import torch

from adagrain.models.interface.formats import FORMATS, FormatCode


def tensor(words: object, code: FormatCode = FormatCode.BF16) -> torch.Tensor:
    return torch.from_numpy(np.array(words, dtype=np.uint16).view(np.int16)).view(
        FORMATS[code].dtype
    )


def words_of(x: torch.Tensor) -> list[int]:
    return x.reshape(-1).view(torch.int16).numpy().view(np.uint16).tolist()


def same(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return [(x.dtype, words_of(x)) for x in a] == [(x.dtype, words_of(x)) for x in b]


def masked(length: int, density: float, code: FormatCode, seed: int) -> torch.Tensor:
    """Normal numbers, the largest of which are left."""
    x = torch.randn(length, generator=torch.Generator().manual_seed(seed))
    kept = x.abs() >= x.abs().quantile(1 - density)
    return torch.where(kept, x, 0.0).to(FORMATS[code].dtype)
