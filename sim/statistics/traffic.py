"""Random passes for the statistics unit."""

import random
from dataclasses import dataclass

import numpy as np
import torch

from adagrain.models.formats import FORMATS, FormatCode

__all__ = ["Pass", "random_pass"]


@dataclass(frozen=True)
class Pass:
    """A tensor, and how it is to be looked at; ``exponent`` is unbiased."""

    tensor: torch.Tensor
    code: FormatCode
    exponent: int
    histogram: bool

    def begin(self) -> dict[str, int]:
        """Fields of ``StatisticsBegin``."""
        return {
            "count": self.tensor.numel(),
            "format": int(self.code),
            "exponent": self.exponent + 127,
            "histogram": int(self.histogram),
            "from_link": 0,
            "_reserved": 0,
        }

    def words(self, lanes: int) -> np.ndarray:
        """The tensor's memory as 32-bit words, zero-padded to whole groups of lanes."""
        octets = self.tensor.view(torch.uint8)
        padding = octets.new_zeros(-len(octets) % (4 * lanes))
        return torch.cat([octets, padding]).numpy().view(np.uint32)


def random_pass(generator: random.Random, formats: tuple[FormatCode, ...], longest: int) -> Pass:
    """Any bit patterns, or tiny numbers, or normal ones around some power of two, or zeros."""
    code = generator.choice(formats)
    row = FORMATS[code]
    count = generator.randrange(1, longest + 1)
    octets = bytearray(generator.randbytes(count * row.bits // 8))
    exponent = generator.choice([-126, 127, generator.randrange(-20, 20)])
    kind = generator.randrange(-1, 3)
    if kind < 0:  # so small that subnormals still count in the histogram's last bin
        upper = slice(row.bits // 8 - 1, None, row.bits // 8)
        most = generator.randrange(16, 20)
        octets[upper] = bytes(octet & 0x80 | (octet & 0x7F) % most for octet in octets[upper])
    tensor = torch.frombuffer(octets, dtype=row.dtype).clone()
    if kind > 0:
        scale = 2.0 ** generator.randrange(-20, 20)
        seeded = torch.Generator().manual_seed(generator.getrandbits(32))
        normal = torch.randn(count, generator=seeded) * scale
        tensor = (normal * (torch.rand(count, generator=seeded) < 0.5**kind)).to(row.dtype)
    return Pass(tensor, code, exponent, generator.random() < 0.5)
