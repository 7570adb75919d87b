"""How tensors become numbers of a precision, and products of such numbers values again.

Integers are multiples of a *scale*, a power of two, symmetric around zero: INT8 has -127 to 127,
and its scale is the smallest one with which nothing is clamped. INT4 has -7 to 7; with so few
levels it pays to clamp the outermost numbers, so its scale is at most the power of two that is
nearest to the best step for a normal distribution, 0.335 deviations with sixteen levels (Max,
"Quantizing for minimum distortion", 1960). Scales follow the numbers: multiplying a tensor by a
power of two leaves its integers as they are.
"""

import math

import torch

from .dot_product import EXACT_PRODUCTS
from .matmul import matmul
from .precision import Precision

__all__ = ["LEVELS", "check_terms", "fits", "product", "quantised", "rounded", "scale_of"]

#: Largest integer of each integer precision.
LEVELS = {Precision.INT8: 127, Precision.INT4: 7}

#: Best step of sixteen levels, in deviations of a normal distribution.
_STEP = 0.335

#: Terms whose sum single precision holds exactly, as products of integers.
_EXACT_TERMS = {precision: (1 << 24) // top**2 for precision, top in LEVELS.items()}

#: Smallest power of two that is used as a scale, and magnitude that numbers must be below: whatever
#: two scales make of a sum of integers is a normal number.
_LEAST, _LIMIT = 2.0**-60, 2.0**60

#: Terms of which each precision can hold the sum: FP16 exactly, integers in 32 bits.
_MOST_TERMS = {precision: ((1 << 31) - 1) // top**2 for precision, top in LEVELS.items()}
_MOST_TERMS[Precision.FP16] = EXACT_PRODUCTS


def scale_of(
    x: torch.Tensor, precision: Precision, *, by_row: bool = False, name: str = "x"
) -> torch.Tensor:
    """The power of two of which integers that stand for a tensor are multiples.

    Parameters
    ----------
    x : Tensor, shape (m, n)
        Finite float32 numbers.
    precision : Precision
        INT8 or INT4.
    by_row : bool
        Whether each row gets its own.
    name : str
        What the tensor is, for messages.

    Returns
    -------
    Tensor of float32, shape (m, 1) or (1, 1)

    Raises
    ------
    ValueError
        If an element is not a number, infinite, or 2**60 and above.
    """
    dimensions = (1,) if by_row else (0, 1)
    largest = torch.maximum(  # of magnitudes, without a tensor of them
        x.amax(dim=dimensions, keepdim=True), x.amin(dim=dimensions, keepdim=True).neg_()
    )
    _check(x, largest, precision, name)
    bits = LEVELS[precision].bit_length()
    # From a significand above top/2**(bits - 1) on, the next power of two.
    scale = _power_below(largest, carry=(1 << 24 - bits) - 1).mul_(2.0 ** (1 - bits))
    if precision is Precision.INT4:
        count = x.shape[1] if by_row else x.numel()
        norm = torch.linalg.vector_norm(x, dim=dimensions, keepdim=True)
        nearest = _power_below(norm.mul_(_STEP * math.sqrt(2.0 / count)))
        scale = torch.minimum(scale, nearest)
    return scale.clamp_min_(_LEAST)


def _power_below(x: torch.Tensor, carry: int = 0) -> torch.Tensor:
    """The power of two at or below each number, or that above it where the carry reaches it."""
    return ((x.view(torch.int32) + carry) & 0x7F80_0000).view(torch.float32)


def quantised(
    x: torch.Tensor, precision: Precision, *, by_row: bool = False, name: str = "x"
) -> tuple[torch.Tensor, torch.Tensor]:
    """A tensor's integers, to nearest even, and their scale.

    Parameters
    ----------
    x, precision, by_row, name
        As for :func:`scale_of`, and the same errors.

    Returns
    -------
    (Tensor, Tensor), both of float32
        Whole numbers from -127 to 127 or -7 to 7, and the scale.
    """
    scale, top = scale_of(x, precision, by_row=by_row, name=name), LEVELS[precision]
    return (x * scale.reciprocal()).round_().clamp_(-top, top), scale


def rounded(
    x: torch.Tensor, precision: Precision, *, by_row: bool = False, name: str = "x"
) -> torch.Tensor:
    """A float32 tensor as the precision has it: what its numbers stand for, again as float32.

    FP16 is rounded once, to nearest even; beyond its range it is infinite.
    """
    if precision is Precision.FP32:
        return x
    if precision is Precision.FP16:
        return x.half().float()
    numbers, scale = quantised(x, precision, by_row=by_row, name=name)
    return numbers.mul_(scale)


def fits(x: torch.Tensor, precision: Precision) -> bool:
    """Whether a precision can stand for all elements of a float32 tensor."""
    if precision is Precision.FP16:
        return bool(x.half().isfinite().all())
    limit = _LIMIT if precision.integer else torch.inf
    return bool(x.amax() < limit and x.amin() > -limit)


def _check(x: torch.Tensor, largest: torch.Tensor, precision: Precision, name: str) -> None:
    if bool((largest < _LIMIT).all()):
        return
    wrong = int((~(x.abs() < _LIMIT)).sum())
    raise ValueError(
        f"{name} must be finite and below {_LIMIT:g} for {precision.name}: {wrong} of {x.numel()} "
        "elements are not"
    )


def product(x: torch.Tensor, weight: torch.Tensor, precision: Precision) -> torch.Tensor:
    """``x @ weight.T`` with both operands and the arithmetic of a precision.

    Bit for bit what a granularity unit's words give when the same integers, and the powers of two
    they are multiples of, are sent to it: integers have one scale for ``x`` and one for each row
    of ``weight``; their sums are rounded to float32 once.

    Parameters
    ----------
    x : Tensor, shape (m, k)
        float32.
    weight : Tensor, shape (n, k)
        float32.
    precision : Precision
        Of operands and sums.

    Returns
    -------
    Tensor of float32, shape (m, n)

    Raises
    ------
    ValueError
        If shapes do not match, FP16 has too many terms, or :func:`scale_of` refuses a tensor.
    """
    if x.shape[1] != weight.shape[1]:
        raise ValueError(f"weight must have {x.shape[1]} columns, not {weight.shape[1]}")
    if precision is Precision.FP32:
        return matmul(x.cpu(), weight.t().cpu(), precision).to(x.device)
    if precision is Precision.FP16:
        return matmul(x.half().cpu(), weight.t().half().cpu(), precision).float().to(x.device)
    a, a_scale = quantised(x, precision)
    b, b_scale = quantised(weight, precision, by_row=True, name="weight")
    if x.shape[1] <= _EXACT_TERMS[precision]:
        return (a @ b.t()).mul_(a_scale * b_scale.t())
    sums = matmul(a.to(torch.int8), b.t().to(torch.int8), precision).float()  # rounds once
    return sums.mul_(a_scale * b_scale.t())


def check_terms(terms: int, precision: Precision, name: str) -> None:
    """Make sure that sums of so many products cannot exceed what a precision adds in.

    Raises
    ------
    ValueError
        If they can.
    """
    most = _MOST_TERMS.get(precision, terms)
    if terms > most:
        raise ValueError(
            f"{name} must have at most {most} inputs for {precision.name}, not {terms}"
        )
