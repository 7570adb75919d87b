"""Scales of a product's operands: powers of two."""

from collections.abc import Sequence

import torch

from adagrain.models.precision import Precision

__all__ = ["Scales", "check_power_of_two", "check_scales", "rescaled"]

#: A scale of ``a``, and one of ``b`` or one for each of its columns.
Scales = tuple[float, float | Sequence[float] | torch.Tensor]

#: Of the product of two scales, the largest power: any sum times it is a number of float64.
_MOST = 512


def check_scales(columns: int, precision: Precision, scales: Scales | None) -> None:
    """Make sure that scales are powers of two, and as many as are needed.

    Raises
    ------
    ValueError
        If they are not, or numbers of this precision have no scales.
    """
    if scales is None:
        return
    if not precision.integer:
        raise ValueError(f"scales must be None for {precision.name}: its numbers have exponents")
    a, b = (torch.as_tensor(scale, dtype=torch.float64) for scale in scales)
    if a.numel() != 1 or b.numel() not in (1, columns):
        raise ValueError(
            f"scales must be one of a, and one or {columns} of b, not {a.numel()} and {b.numel()}"
        )
    for scale in (a, b):
        check_power_of_two("scale", scale)
    both = a.frexp().exponent + b.frexp().exponent - 2
    wrong = both[both.abs() > _MOST]
    if wrong.numel():
        raise ValueError(
            f"scales of a and b must multiply to 2**-{_MOST} to 2**{_MOST}, not 2**{wrong[0]}"
        )


def check_power_of_two(name: str, scale: torch.Tensor) -> None:
    """Make sure that all elements are positive powers of two.

    Raises
    ------
    ValueError
        If one is not.
    """
    wrong = scale[(scale <= 0) | ~scale.isfinite() | (scale.frexp().mantissa != 0.5)]
    if wrong.numel():
        raise ValueError(f"{name} must be a positive power of two, not {wrong[0].item():g}")


def rescaled(values: torch.Tensor, scales: Scales | None) -> torch.Tensor:
    """Sums of integers times the scales of their operands, as float32.

    Each sum is rounded to float32, to nearest even; the scales only move its exponent, down to
    subnormal numbers, which are rounded too, and up to infinity.

    Parameters
    ----------
    values : Tensor, shape (m, n)
        Sums.
    scales : Scales or None
        Sound ones; ``None``: the sums stay what they are.
    """
    if scales is None:
        return values
    a, b = (torch.as_tensor(scale, dtype=torch.float64) for scale in scales)
    return (values.float().double() * (a * b)).float()
