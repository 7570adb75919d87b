"""Operands of a product: two matrices of a precision's type, and what is made such."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from adagrain.models.dot_product import EXACT_PRODUCTS
from adagrain.models.interface.precision import Precision

__all__ = ["DTYPES", "Matrix", "dense", "matrices"]

#: Type of the operands of each precision. INT4's numbers are from -8 to 7.
DTYPES = {
    Precision.FP32: torch.float32,
    Precision.FP16: torch.float16,
    Precision.INT8: torch.int8,
    Precision.INT4: torch.int8,
}

#: An operand: a tensor, an array, or rows of numbers.
Matrix = torch.Tensor | np.ndarray | Sequence[Sequence[float]]


def matrices(a: Matrix, b: Matrix, precision: Precision) -> tuple[torch.Tensor, torch.Tensor]:
    """Two matrices that can be multiplied, as tensors on the CPU.

    Parameters
    ----------
    a, b : Tensor, array, or sequence of sequences of numbers
        Tensors and arrays must be of the precision's type. Numbers in lists have none: those of
        floats are rounded to it once, to nearest even; those of integers must be whole ones.
    precision : Precision
        In which they are to be multiplied.

    Raises
    ------
    TypeError
        If they are nothing of that, or not of the precision's type.
    ValueError
        If their shapes do not match, a number does not fit the precision, or FP16 has too many
        terms.
    """
    left, right = (_matrix(name, given, precision) for name, given in (("a", a), ("b", b)))
    if left.shape[1] != right.shape[0]:
        raise ValueError(
            f"b must have {left.shape[1]} rows, as many as a has columns, not {right.shape[0]}"
        )
    if precision is Precision.FP16 and left.shape[1] > EXACT_PRODUCTS:
        raise ValueError(
            f"a sum of FP16 must have at most {EXACT_PRODUCTS} terms, not {left.shape[1]}"
        )
    return left, right


def dense(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """A tensor's elements in memory, on the CPU, without its gradients.

    Raises
    ------
    TypeError
        If it does not have them all in memory.
    """
    if tensor.is_nested or tensor.layout != torch.strided:
        layout = "nested" if tensor.is_nested else tensor.layout
        raise TypeError(f"{name} must be a dense tensor, not one of layout {layout}")
    if tensor.is_meta:
        raise TypeError(f"{name} must have elements in memory, not be on device meta")
    return tensor.detach().cpu().resolve_conj().resolve_neg()


def _matrix(name: str, given: Any, precision: Precision) -> torch.Tensor:
    if isinstance(given, torch.Tensor):
        found = dense(name, given)
    elif hasattr(given, "__array__"):
        found = _of_array(name, np.asarray(given), precision)
    elif isinstance(given, Sequence) and not isinstance(given, str | bytes):
        found = _of_numbers(name, given, precision)
    else:
        raise TypeError(f"{name} must be a tensor, an array or nested lists, not {given!r:.60}")
    if found.dtype != DTYPES[precision]:
        raise TypeError(
            f"{name} must be of {DTYPES[precision]} for {precision.name}, not {found.dtype}"
        )
    if found.dim() != 2:
        raise ValueError(f"{name} must be a matrix, not of shape {tuple(found.shape)}")
    if precision is Precision.INT4:
        _check_range(name, found.numpy(), precision)
    return found


def _of_array(name: str, array: np.ndarray, precision: Precision) -> torch.Tensor:
    if array.dtype != _array_type(precision):
        raise TypeError(
            f"{name} must be of {_array_type(precision)} for {precision.name}, not {array.dtype}"
        )
    return torch.from_numpy(np.array(array, order="C"))


def _of_numbers(name: str, given: Sequence[Any], precision: Precision) -> torch.Tensor:
    try:
        array = np.array(given)
    except ValueError:
        raise ValueError(f"{name} must have rows of equal length, not {given!r:.60}") from None
    kind = "whole numbers" if precision.integer else "numbers"
    if array.size and array.dtype.kind not in ("iu" if precision.integer else "iuf"):
        raise TypeError(f"{name} must be of {kind} for {precision.name}, not of {array.dtype}")
    if precision.integer:
        _check_range(name, array, precision)
    with np.errstate(over="ignore"):
        rounded = array.astype(_array_type(precision))
    lost = ~np.isfinite(rounded) & np.isfinite(array)
    if lost.any():
        raise ValueError(f"{name} must be finite in {precision.name}, not {array[lost][0]:g}")
    return torch.from_numpy(rounded)


def _array_type(precision: Precision) -> np.dtype:
    kind = "int8" if precision.integer else f"float{precision.bits}"
    return np.dtype(kind)


def _check_range(name: str, numbers: np.ndarray, precision: Precision) -> None:
    reach = 1 << (precision.bits - 1)
    if numbers.size and (numbers.min() < -reach or numbers.max() >= reach):
        raise ValueError(
            f"{name} must be from {-reach} to {reach - 1} for {precision.name}, not "
            f"{numbers.min()} to {numbers.max()}"
        )
