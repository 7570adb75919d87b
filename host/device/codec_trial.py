"""The part of the self-test that is of encoder and decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from adagrain.models.codec import DEFAULT_TABLES, encode
from adagrain.models.interface.formats import FORMATS, FormatCode
from adagrain.models.interface.units.statistics import BINS
from adagrain.models.mask import KeepTable, masked

from .trial_tensors import any_tensor

if TYPE_CHECKING:
    from .coprocessor import Coprocessor

__all__ = ["check_elements", "check_frames"]


def check_elements(device: Coprocessor, code: FormatCode, generator: torch.Generator) -> str:
    """Frames with blocks of either kind."""
    regions = [_sparse(code, generator), any_tensor(code, generator)[:5000]]
    for tables in (None, [*DEFAULT_TABLES.values()]):
        found = device.decode(encode(regions, tables=tables))
        words = [[x.view(torch.int16) for x in parts] for parts in (found, regions)]
        if not all(map(torch.equal, *words)):
            return "elements differ"
    return ""


def _sparse(code: FormatCode, generator: torch.Generator) -> torch.Tensor:
    dense = any_tensor(code, generator)
    return torch.where(torch.rand(len(dense), generator=generator) < 0.1, dense, 0.0)


def check_frames(device: Coprocessor, code: FormatCode, generator: torch.Generator) -> str:
    """Frames of regions that are sparse, masked, or any bits; blocks of either kind."""
    fmt = FORMATS[code]
    dense, sparse = any_tensor(code, generator), _sparse(code, generator)
    mask = KeepTable(fmt.bias, [int(number < 6) for number in range(BINS)])
    regions, masks = [dense, sparse, dense[:4096], sparse[:1]], [None, None, mask, mask]
    kept = [x if m is None else masked(x, *m) for x, m in zip(regions, masks, strict=True)]
    for tables, mantissa_bits in ((None, None), ([*DEFAULT_TABLES.values()], 2)):
        found = device.encode(regions, tables=tables, mantissa_bits=mantissa_bits, masks=masks)
        if found != encode(kept, tables=tables, mantissa_bits=mantissa_bits):
            return f"a frame of {len(regions)} regions differs"
    return ""
