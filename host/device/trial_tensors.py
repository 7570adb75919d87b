"""Tensors for self-tests."""

import torch

from adagrain.models.interface.formats import FORMATS, FormatCode

__all__ = ["any_tensor"]


def any_tensor(code: FormatCode, generator: torch.Generator) -> torch.Tensor:
    """Random bit patterns (all special values among them) behind a normal tensor's elements."""
    fmt = FORMATS[code]
    raw = torch.randint(256, (2011 * fmt.bits // 8,), generator=generator, dtype=torch.uint8)
    normal = torch.randn(4096, generator=generator).to(fmt.dtype)
    return torch.cat([normal, raw.view(fmt.dtype)])
