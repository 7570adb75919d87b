"""Checksums of weights: one that workers compare, one that people do."""

import hashlib
import zlib
from collections.abc import Iterable

import torch

__all__ = ["checksum_of", "sha256_of"]


def checksum_of(parameters: Iterable[torch.Tensor]) -> int:
    """Of all elements' bytes, in order."""
    found = 0
    for parameter in parameters:
        found = zlib.crc32(_bytes_of(parameter), found)
    return found


def sha256_of(parameters: Iterable[torch.Tensor]) -> str:
    """SHA-256 of the same bytes, in hexadecimal."""
    found = hashlib.sha256()
    for parameter in parameters:
        found.update(_bytes_of(parameter))
    return found.hexdigest()


def _bytes_of(parameter: torch.Tensor) -> memoryview:
    raw = parameter.detach().cpu().reshape(-1).contiguous().view(torch.uint8)
    return raw.numpy().data
