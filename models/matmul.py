"""Matrix products in four precisions, as the granularity unit computes them, for whole tensors."""

import numpy as np
import torch

from .dot_product import EXACT_PRODUCTS, dot
from .exact_product import exact_product
from .in_order_kernel import product_in_order
from .precision import Precision, packed

__all__ = ["DTYPES", "check_operands", "matmul", "packed_rows", "reference", "to_tensor"]

#: Type of the operands of each precision. INT4's numbers are from -8 to 7.
DTYPES = {
    Precision.FP32: torch.float32,
    Precision.FP16: torch.float16,
    Precision.INT8: torch.int8,
    Precision.INT4: torch.int8,
}


def check_operands(a: torch.Tensor, b: torch.Tensor, precision: Precision) -> None:
    """Make sure that two matrices can be multiplied.

    Raises
    ------
    TypeError
        If they are not of the precision's type.
    ValueError
        If their shapes do not match, a number does not fit INT4, or FP16 has too many terms.
    """
    for name, matrix in (("a", a), ("b", b)):
        if matrix.dtype != DTYPES[precision]:
            raise TypeError(
                f"{name} must be of {DTYPES[precision]} for {precision.name}, not {matrix.dtype}"
            )
        if matrix.dim() != 2 or not matrix.numel():
            raise ValueError(f"{name} must be a matrix with elements, not {tuple(matrix.shape)}")
        if precision is Precision.INT4 and (matrix.min() < -8 or matrix.max() > 7):
            raise ValueError(
                f"{name} must be from -8 to 7 for INT4, not {int(matrix.min())} to "
                f"{int(matrix.max())}"
            )
    if a.shape[1] != b.shape[0]:
        raise ValueError(
            f"b must have {a.shape[1]} rows, as many as a has columns, not {b.shape[0]}"
        )
    if precision is Precision.FP16 and a.shape[1] > EXACT_PRODUCTS:
        raise ValueError(
            f"a sum of FP16 must have at most {EXACT_PRODUCTS} terms, not {a.shape[1]}"
        )


def matmul(a: torch.Tensor, b: torch.Tensor, precision: Precision) -> torch.Tensor:
    """The product of two matrices, bit for bit as :func:`adagrain.models.dot_product.dot` has it.

    Parameters
    ----------
    a : Tensor, shape (m, k)
        Of the type that :data:`DTYPES` has for the precision.
    b : Tensor, shape (k, n)
        The same.
    precision : Precision
        FP32 is added term by term, rounded after each product and each sum; FP16 is rounded once,
        at the end; integers wrap around at 32 bits.

    Returns
    -------
    Tensor, shape (m, n)
        float32, float16, or int32. NaNs are canonical.

    Raises
    ------
    TypeError, ValueError
        As :func:`check_operands`.
    """
    check_operands(a, b, precision)
    a, b = a.detach(), b.detach()
    if precision is Precision.FP32:
        return _in_order(a, b)
    if precision is Precision.FP16:
        return _exact(a, b)
    # A product has at most 14 bits, and single precision adds exactly up to 24.
    wide = torch.float32 if a.shape[1] <= 1024 else torch.float64
    return (a.to(wide) @ b.to(wide)).to(torch.int64).to(torch.int32)


def reference(
    a: torch.Tensor, b: torch.Tensor, precision: Precision
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same product and its flags, element by element from the golden sums; slow.

    Returns
    -------
    (Tensor, Tensor), both of shape (m, n)
        The product, and as uint8 the :class:`~adagrain.models.float.Flag` of each sum.
    """
    check_operands(a, b, precision)
    rows, columns = packed_rows(a, precision), packed_rows(b.t(), precision)
    pairs = np.repeat(rows, len(columns), axis=0), np.tile(columns, (len(rows), 1))
    words, flags = dot(*pairs, precision)
    shape = (len(rows), len(columns))
    raised = torch.from_numpy(flags.astype(np.uint8).reshape(shape))
    return to_tensor(words.reshape(shape), precision), raised


def packed_rows(matrix: torch.Tensor, precision: Precision) -> np.ndarray:
    """Rows packed in words, the last one of each filled with zeros.

    Parameters
    ----------
    matrix : Tensor, shape (m, k)
        Of the precision's type.

    Returns
    -------
    array of int64, shape (m, words)
    """
    numbers = matrix.detach().contiguous().numpy()
    if not precision.integer:
        numbers = numbers.view(f"u{precision.bits // 8}")
    missing = -matrix.shape[1] % precision.lanes
    padded = np.pad(numbers.astype(np.int64), ((0, 0), (0, missing)))
    return packed(padded.reshape(len(padded), -1, precision.lanes), precision)


def to_tensor(words: np.ndarray, precision: Precision) -> torch.Tensor:
    """Words that a sum left as numbers: float32, float16 or int32."""
    octets = np.ascontiguousarray(words.astype("<u4"))
    if precision is Precision.FP32:
        return torch.from_numpy(octets.view(np.float32))
    if precision is Precision.FP16:
        return torch.from_numpy(octets.astype("<u2").view(np.float16))
    return torch.from_numpy(octets.view(np.int32))


def _in_order(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    total = torch.empty(a.shape[0], b.shape[1], dtype=torch.float32)
    left, right = (matrix.contiguous().numpy() for matrix in (a, b))
    product_in_order(left, right, total.numpy())
    return total.masked_fill_(total.isnan(), torch.nan)


def _exact(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    extremes = torch.stack([extreme for x in (a, b) for extreme in (x.amax(), x.amin())])
    if not extremes.isfinite().all():
        return reference(a, b, Precision.FP16)[0]
    return exact_product(a, b)
