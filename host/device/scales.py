"""Scales of a product's operands: powers of two."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from adagrain.models.interface.precision import Precision
from adagrain.models.numerics.matrices import dense

__all__ = ["Scales", "exponents_of", "logarithms"]

#: A scale of ``a``, and one of ``b`` or one for each of its columns.
Scales = tuple[float, float | Sequence[float] | torch.Tensor | np.ndarray]

#: Of the product of two scales, the largest power.
_MOST = 512


def exponents_of(scales: Scales | None, columns: int, precision: Precision) -> NDArray[np.int64]:
    """Logarithms to base 2 of what the sums of each column are multiples of.

    Parameters
    ----------
    scales : Scales or None
        None: all are multiples of 1.
    columns : int
        Of ``b``.
    precision : Precision
        Of the operands.

    Raises
    ------
    TypeError
        If scales are no pair of numbers.
    ValueError
        If they are no powers of two or not as many as are needed, or numbers of this precision
        have no scales.
    """
    if scales is None:
        return np.zeros(columns, dtype=np.int64)
    if not precision.integer:
        raise ValueError(f"scales must be None for {precision.name}: its numbers have exponents")
    if not isinstance(scales, Sequence) or isinstance(scales, str | bytes) or len(scales) != 2:
        raise TypeError(f"scales must be a pair, of a and of b, not {scales!r:.60}")
    a, b = (_numbers("scale", scale) for scale in scales)
    if a.size != 1 or b.size not in (1, columns):
        raise ValueError(
            f"scales must be one of a, and one or {columns} of b, not {a.size} and {b.size}"
        )
    both = _powers("scale", a) + _powers("scale", b)
    wrong = both[np.abs(both) > _MOST]
    if wrong.size:
        raise ValueError(
            f"scales of a and b must multiply to 2**-{_MOST} to 2**{_MOST}, not 2**{wrong[0]}"
        )
    return np.broadcast_to(both, columns)


def logarithms(name: str, scales: Any) -> NDArray[np.int64]:
    """Logarithms to base 2 of one or more scales.

    Raises
    ------
    TypeError
        If they are no numbers.
    ValueError
        If one is no positive power of two.
    """
    return _powers(name, _numbers(name, scales))


def _numbers(name: str, scales: Any) -> NDArray[np.float64]:
    if isinstance(scales, torch.Tensor):
        kept = dense(name, scales)
        array = (kept.double() if kept.is_floating_point() else kept).numpy()
    else:
        try:
            array = np.asarray(scales)
        except ValueError:
            array = np.empty(0, dtype=object)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be a number, or numbers, not {scales!r:.60}")
    return array.astype(np.float64).ravel()


def _powers(name: str, scales: NDArray[np.float64]) -> NDArray[np.int64]:
    mantissas, exponents = np.frexp(scales)
    wrong = scales[mantissas != 0.5]
    if wrong.size:
        raise ValueError(f"{name} must be a positive power of two, not {wrong[0]:g}")
    return exponents.astype(np.int64) - 1
