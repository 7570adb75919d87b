"""Elements as they are sent: BF16, perhaps with fewer mantissa bits."""

import torch

from adagrain.models.codec import with_mantissa_bits

from .options import MANTISSA_BITS
from .rounding_kernel import LEAST_SPECIAL, round_words

__all__ = ["rounded"]


def rounded(x: torch.Tensor, bits: int = MANTISSA_BITS) -> torch.Tensor:
    """The nearest elements that are sent, so that what is left of each is exact in FP32.

    Finite numbers stay finite. Zeros are +0.

    Parameters
    ----------
    x : Tensor
        FP32.
    bits : int
        Mantissa bits that are kept.
    """
    if bits == MANTISSA_BITS and x.is_cpu:
        found = torch.empty_like(x, dtype=torch.bfloat16)
        words, out = x.view(torch.int32), found.view(torch.int16)
        if round_words(words.numpy(), out.numpy()) < LEAST_SPECIAL:
            return found
    return _rounded_anyhow(x, bits)


def _rounded_anyhow(x: torch.Tensor, bits: int) -> torch.Tensor:
    """Any elements, wherever they are, in several passes."""
    found = x.bfloat16()
    if bits < MANTISSA_BITS:
        found = with_mantissa_bits(found, bits)
    if not torch.isfinite(found.sum()):
        most = (2.0 - 2.0**-bits) * 2.0**127
        beyond = found.isinf() & x.isfinite()
        found = torch.where(beyond, x.sign().mul_(most).bfloat16(), found)
    return found.add_(0.0)  # −0 becomes +0
