"""Matrix products in four precisions, as the granularity unit computes them, for whole tensors."""

import numpy as np
import torch

from adagrain.models.dot_product import dot
from adagrain.models.interface.precision import Precision, packed, precision_of

from .exact_product import exact_product
from .in_order_kernel import product_in_order
from .matrices import Matrix, matrices
from .surroundings import exactly

__all__ = ["matmul", "packed_rows", "reference", "to_tensor"]


@exactly()
def matmul(a: Matrix, b: Matrix, precision: Precision | str) -> torch.Tensor:
    """The product of two matrices, bit for bit as :func:`adagrain.models.dot_product.dot` has it.

    Parameters
    ----------
    a : Tensor, array or nested lists, shape (m, k)
        As for :func:`adagrain.models.numerics.matrices.matrices`.
    b : Tensor, array or nested lists, shape (k, n)
        The same.
    precision : Precision or str
        FP32 is added term by term, rounded after each product and each sum; FP16 is rounded once,
        at the end; integers wrap around at 32 bits.

    Returns
    -------
    Tensor, shape (m, n)
        float32, float16, or int32. NaNs are canonical.

    Raises
    ------
    TypeError, ValueError
        As :func:`adagrain.models.numerics.matrices.matrices`.
    """
    precision = precision_of(precision)
    left, right = matrices(a, b, precision)
    if precision is Precision.FP32:
        return _in_order(left, right)
    if precision is Precision.FP16:
        return _exact(left, right)
    # A product has at most 14 bits, and single precision adds exactly up to 24.
    wide = torch.float32 if left.shape[1] <= 1024 else torch.float64
    return (left.to(wide) @ right.to(wide)).to(torch.int64).to(torch.int32)


def reference(
    a: Matrix, b: Matrix, precision: Precision | str
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same product and its flags, element by element from the golden sums; slow.

    Returns
    -------
    (Tensor, Tensor), both of shape (m, n)
        The product, and as uint8 the :class:`~adagrain.models.arithmetic.float.Flag` of each sum.
    """
    precision = precision_of(precision)
    left, right = matrices(a, b, precision)
    rows, columns = packed_rows(left, precision), packed_rows(right.t(), precision)
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
    words = padded.shape[1] // precision.lanes
    return packed(padded.reshape(len(padded), words, precision.lanes), precision)


def to_tensor(words: np.ndarray, precision: Precision) -> torch.Tensor:
    """Words that a sum left as numbers: float32, float16 or int32."""
    raw = np.ascontiguousarray(words.astype("<u4"))
    if precision is Precision.FP32:
        return torch.from_numpy(raw.view(np.float32))
    if precision is Precision.FP16:
        return torch.from_numpy(raw.astype("<u2").view(np.float16))
    return torch.from_numpy(raw.view(np.int32))


def _in_order(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    total = torch.empty(a.shape[0], b.shape[1], dtype=torch.float32)
    left, right = (matrix.contiguous().numpy() for matrix in (a, b))
    product_in_order(left, right, total.numpy())
    return total.masked_fill_(total.isnan(), torch.nan)


def _exact(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if not a.numel() or not b.numel():
        return torch.zeros(a.shape[0], b.shape[1], dtype=torch.float16)
    extremes = torch.stack([extreme for x in (a, b) for extreme in (x.amax(), x.amin())])
    if not extremes.isfinite().all():
        return reference(a, b, Precision.FP16)[0]
    return exact_product(a, b)
