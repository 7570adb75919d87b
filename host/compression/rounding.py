"""Elements as they are sent, BF16, perhaps with fewer mantissa bits; and what follows from them.

On the processor that is done in compiled passes: memory is what takes time.
"""

from collections.abc import Sequence

import numpy as np
import torch

from adagrain.models.codec import with_mantissa_bits

from .options import MANTISSA_BITS
from .rounding_kernel import (
    INFINITE,
    add_words,
    average_words,
    largest_magnitude,
    least_special,
    left_of,
    round_kept,
    round_sums,
    round_words,
    same_words,
)

__all__ = [
    "added",
    "averaged",
    "bounded",
    "is_finite",
    "rounded",
    "rounded_sum",
    "rounded_where",
    "same_bits",
    "subtracted",
]


#: Mantissa bits of the largest element that is sent of FP16: 61440 leaves 6 % for sums in BF16.
_FP16_BITS = 3


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
    if x.is_cpu:
        found = torch.empty_like(x, dtype=torch.bfloat16)
        drop = MANTISSA_BITS - bits
        if round_words(_words(x), drop, _words(found)) < least_special(drop):
            return found
    return _rounded_anyhow(x, bits)


def rounded_where(keep: torch.Tensor, x: torch.Tensor, bits: int = MANTISSA_BITS) -> torch.Tensor:
    """Round elements that are kept, or not finite, as :func:`rounded` does; all others are +0.

    Parameters
    ----------
    keep : Tensor
        Bools.
    x, bits
        As those of :func:`rounded`.
    """
    if x.is_cpu:
        found = torch.empty_like(x, dtype=torch.bfloat16)
        drop = MANTISSA_BITS - bits
        if round_kept(_words(x), keep.numpy(), drop, _words(found)) < least_special(drop):
            return found
    return _rounded_anyhow(torch.where(keep | x.isfinite().logical_not_(), x, 0.0), bits)


def rounded_sum(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums, and what :func:`rounded` makes of them.

    Parameters
    ----------
    x, y : Tensor
        FP32, of one dimension.
    """
    if x.is_cpu:
        total, found = torch.empty_like(x), torch.empty_like(x, dtype=torch.bfloat16)
        if round_sums(x.numpy(), y.numpy(), total.numpy(), _words(found)) < least_special(0):
            return total, found
    total = x + y
    return total, _rounded_anyhow(total, MANTISSA_BITS)


def bounded(
    sent: torch.Tensor, places: Sequence[torch.Tensor], bits: int = MANTISSA_BITS
) -> torch.Tensor:
    """Elements that are sent, so that their average is finite where it is FP16, as they are.

    FP16 ends at 65504; a residual or a velocity may be more. What is beyond is not sent yet.

    Parameters
    ----------
    sent : Tensor
        BF16, of one dimension.
    places : sequence of Tensor
        Where the averages of all elements go, in this order.
    bits : int
        Mantissa bits that are sent.
    """
    if all(place.dtype != torch.float16 for place in places):
        return sent
    parts = []
    most = (2.0 - 2.0 ** -min(bits, _FP16_BITS)) * 2.0**15
    for place, part in zip(places, sent.split([p.numel() for p in places]), strict=True):
        is_beyond = part.isfinite() & (part.abs() > most) & (place.dtype == torch.float16)
        parts.append(torch.where(is_beyond, part.sign() * most, part))
    return torch.cat(parts)


def is_finite(x: torch.Tensor) -> bool:
    """True if all elements of a tensor, FP32, are finite."""
    if x.is_cpu:
        return bool(largest_magnitude(_words(x)) < INFINITE)
    return bool(x.isfinite().all())


def subtracted(x: torch.Tensor, sent: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """Elements less what is sent of them, exactly; ``out``.

    Parameters
    ----------
    x, out : Tensor
        FP32.
    sent : Tensor
        As :func:`rounded` has them, or of any type and shape that goes with ``x``.
    """
    if x.is_cpu and sent.dtype == torch.bfloat16:
        left_of(x.numpy(), _words(sent), out.numpy())
        return out
    return torch.sub(x, sent, out=out)


def averaged(summed: torch.Tensor, workers: int, out: torch.Tensor) -> torch.Tensor:
    """A sum over the workers, BF16, as their average, FP32; ``out``."""
    if summed.is_cpu:
        average_words(_words(summed), np.float32(1.0 / workers), out.numpy())
        return out
    return out.copy_(summed).mul_(1.0 / workers)


def added(sent: torch.Tensor, workers: int, out: torch.Tensor) -> torch.Tensor:
    """FP32 sums, ``out``, with what else was sent, BF16; as an average over so many."""
    if sent.is_cpu:
        add_words(_words(sent), np.float32(1.0 / workers), out.numpy())
        return out
    return out.add_(sent).mul_(1.0 / workers)


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """True if two tensors, BF16, of one size, are the same to the bit."""
    if one.is_cpu and other.is_cpu:
        return bool(same_words(_words(one), _words(other)))
    return torch.equal(one.view(torch.int16), other.view(torch.int16))


def _words(x: torch.Tensor) -> np.ndarray:
    """Elements as signed integers of their size, in the same memory."""
    return x.view(torch.int32 if x.dtype == torch.float32 else torch.int16).numpy()


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
