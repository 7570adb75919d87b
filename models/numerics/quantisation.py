"""Quantisation: from tensors to numbers of a precision, and from products of these to values.

Integers are multiples of a *scale*, a power of two, symmetric around zero: INT8 has -127 to 127,
and its scale is the smallest one with which nothing is above 127 before it is rounded. INT4 has
-7 to 7; with so few levels it pays to clamp the outermost numbers, so its scale is at most the
power of two that is nearest to the best step for a normal distribution, 0.335 deviations with
sixteen levels (Max, "Quantizing for minimum distortion", 1960). Scales follow the numbers:
multiplying a tensor by a power of two leaves its integers as they are.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numba import njit

from adagrain.models.dot_product import EXACT_PRODUCTS
from adagrain.models.interface.precision import LEVELS, Precision, names, precision_of

from .magnitude import array_of, largest_of
from .matmul import matmul
from .matrices import DTYPES
from .rounding import multiples
from .surroundings import exactly

__all__ = [
    "Operand",
    "check_terms",
    "fits",
    "multiplied",
    "operand",
    "product",
    "rounded",
    "scale_of",
    "scales_below",
]


#: Best step of sixteen levels, in deviations of a normal distribution.
_STEP = 0.335

#: Terms whose sum single precision holds exactly, as products of integers.
_EXACT_TERMS = {precision: (1 << 24) // top**2 for precision, top in LEVELS.items()}

#: Biased exponent of the smallest power of two that is used as a scale, and magnitude that numbers
#: must be below: whatever two scales make of a sum of integers is a normal number.
_LEAST_EXPONENT, _LIMIT = 127 - 60, 2.0**60

#: Terms of which each precision can hold the sum: FP16 exactly, integers in 32 bits.
_MOST_TERMS = {precision: ((1 << 31) - 1) // top**2 for precision, top in LEVELS.items()}
_MOST_TERMS[Precision.FP16] = EXACT_PRODUCTS

#: Magnitude below which each precision can stand for a number.
_LIMITS = {Precision.FP32: math.inf, Precision.FP16: 65520.0} | dict.fromkeys(LEVELS, _LIMIT)


@dataclass(frozen=True)
class Operand:
    """A tensor as a precision has it.

    Parameters
    ----------
    numbers : Tensor
        float16 of FP16, else float32; whole ones of integers.
    scale : Tensor of float32 or None
        What integers are multiples of; of floats none.
    precision : Precision
        Which it is.
    """

    numbers: torch.Tensor
    scale: torch.Tensor | None
    precision: Precision

    def matrix(self) -> torch.Tensor:
        """All rows as :func:`adagrain.models.numerics.matmul.matmul` takes them, on the CPU."""
        rows = self.numbers.reshape(-1, self.numbers.shape[-1])
        return rows.to("cpu", DTYPES[self.precision])

    def products(self, found: torch.Tensor) -> torch.Tensor:
        """Results of the rows in a product, as float32, in as many matrices as there were."""
        found = found.float().to(self.numbers.device)
        matrices = self.numbers.shape[:-1]
        return found if len(matrices) == 1 else found.view(*matrices, found.shape[1])


@exactly()
def scale_of(
    x: torch.Tensor,
    precision: Precision | str,
    *,
    along: tuple[int, ...] | None = None,
    name: str = "x",
) -> torch.Tensor:
    """The power of two of which integers that stand for a tensor are multiples.

    Parameters
    ----------
    x : Tensor, one dimension or more
        Finite float32 numbers.
    precision : Precision or str
        INT8 or INT4.
    along : tuple of int or None
        Dimensions along which elements share a scale; None: all.
    name : str
        What the tensor is, for messages.

    Returns
    -------
    Tensor of float32
        With a length of 1 in these dimensions.

    Raises
    ------
    TypeError
        If the tensor is not of float32.
    ValueError
        If the precision is none of integers, dimensions are no tuple, or an empty one, none of the
        tensor's, or not ascending, or an element is not a number, infinite, or 2**60 and above.
    """
    precision = _checked(x, precision, name)
    if not precision.integer:
        raise ValueError(f"precision must be one of {names(LEVELS)}, not {precision.name}")
    _check_dimensions(x, along, name)
    largest = steps = largest_of(array_of(x), along)
    if precision is Precision.INT4:
        # In double precision no square is subnormal: PyTorch's threads may flush it.
        norm = torch.linalg.vector_norm(x.detach(), dim=along, keepdim=True, dtype=torch.float64)
        steps = array_of(
            norm.mul_(_STEP * math.sqrt(2.0 * largest.size / max(x.numel(), 1))).float()
        )
    powers, bits = np.empty_like(largest), LEVELS[precision].bit_length()
    if not scales_below(largest.reshape(-1), steps.reshape(-1), powers.reshape(-1), bits):
        wrong = int((~(x.abs() < _LIMIT)).sum())
        raise ValueError(
            f"{name} must be finite and below {_LIMIT:g} for {precision.name}: {wrong} of "
            f"{x.numel()} elements are not"
        )
    return torch.from_numpy(powers).to(x.device)


def _check_dimensions(x: torch.Tensor, along: tuple[int, ...] | None, name: str) -> None:
    if not x.dim():
        raise ValueError(f"{name} must have one dimension or more, not none")
    if along is None:
        return
    if not isinstance(along, tuple) or not along or any(type(d) is not int for d in along):
        raise ValueError(f"along must be None or a tuple of one int or more, not {along!r}")
    if [*along] != [d for d in range(x.dim()) if d in along]:
        raise ValueError(
            f"along must be dimensions of {name}, from 0 to {x.dim() - 1}, ascending, not {along}"
        )


def _checked(x: torch.Tensor, precision: Precision | str, name: str) -> Precision:
    """The precision in which a float32 tensor is wanted."""
    if x.dtype != torch.float32:
        raise TypeError(f"{name} must be of torch.float32, not {x.dtype}")
    return precision_of(precision)


@njit(cache=True, nogil=True)
def scales_below(largest, steps, out, bits):  # pragma: no cover - compiled
    """Scales that leave nothing above the top, but at most the powers of two below the steps.

    Nothing is found, and False returned, where a magnitude is too large or not a number.
    """
    exponents, most = largest.view(np.int32), steps.view(np.int32)
    for i in range(out.size):
        if not largest[i] < _LIMIT:
            return False
        # From a significand above top/2**(bits - 1) on, the next power of two.
        exponent = (exponents[i] + (1 << 24 - bits) - 1 >> 23) - (bits - 1)
        exponent = max(min(exponent, most[i] >> 23), _LEAST_EXPONENT)
        out.view(np.int32)[i] = exponent << 23
    return True


@exactly()
def operand(
    x: torch.Tensor,
    precision: Precision | str,
    *,
    along: tuple[int, ...] | None = None,
    name: str = "x",
) -> Operand:
    """A float32 tensor in a precision: integers, or floats, to nearest even.

    FP16 is rounded once; beyond its range it is infinite.

    Parameters
    ----------
    x, precision, along, name
        As for :func:`scale_of`, and the same errors where integers have to stand for the tensor.

    Returns
    -------
    Operand
        Integers are from -127 to 127, or from -7 to 7.
    """
    precision = _checked(x, precision, name)
    if precision.integer:
        scale = scale_of(x, precision, along=along, name=name)
        return Operand(multiples(x, scale, along, LEVELS[precision]), scale, precision)
    return Operand(x.to(DTYPES[precision]), None, precision)


@exactly()
def rounded(
    x: torch.Tensor,
    precision: Precision | str,
    *,
    along: tuple[int, ...] | None = None,
    name: str = "x",
) -> torch.Tensor:
    """Values of the numbers of :func:`operand`, again as float32."""
    precision = _checked(x, precision, name)
    if precision.integer:
        scale = scale_of(x, precision, along=along, name=name)
        return multiples(x, scale, along, LEVELS[precision], valued=True)
    return x.to(DTYPES[precision]).float()


def fits(largest: float, precision: Precision) -> bool:
    """True if a precision can stand for numbers of this magnitude, False if it is too large."""
    return largest < _LIMITS[precision]


@exactly()
def multiplied(a: Operand, b: Operand) -> torch.Tensor:
    """``a @ b.T`` in the arithmetic of a precision.

    Bit for bit what a granularity unit's words give when the same numbers, and the powers of two
    that integers are multiples of, are sent to it: sums of integers are rounded to float32 once.

    Parameters
    ----------
    a : Operand, shape (..., m, k)
        Integers with one scale.
    b : Operand, shape (n, k)
        Of the same precision; integers with one scale for each row.

    Returns
    -------
    Tensor of float32, shape (..., m, n)
        Each matrix lies in memory as that of ``a`` does.
    """
    if a.scale is None or b.scale is None:
        return a.products(matmul(a.matrix(), b.matrix().t(), a.precision))
    if b.numbers.shape[1] <= _EXACT_TERMS[a.precision]:
        sums = _sums(a.numbers, b.numbers)
    else:
        sums = _sums(a.numbers.double(), b.numbers.double()).float()
    return sums.mul_(a.scale.view(1, 1) * b.scale.t())


def _sums(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """``a @ b.T``; several matrices are those of patches, which lie transposed in memory."""
    return a @ b.t() if a.dim() == 2 else (b @ a.mT).mT


def product(x: torch.Tensor, weight: torch.Tensor, precision: Precision | str) -> torch.Tensor:
    """``x @ weight.T`` with both operands and the arithmetic of a precision.

    Integers have one scale for ``x`` and one for each row of ``weight``.

    Parameters
    ----------
    x : Tensor, shape (m, k)
        float32.
    weight : Tensor, shape (n, k)
        float32.
    precision : Precision or str
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
    a = operand(x, precision)
    return multiplied(a, operand(weight, precision, along=(1,), name="weight"))


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
