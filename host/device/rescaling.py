"""In which precision a product comes back, and by what its sums are multiplied for that."""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from adagrain.models.interface.precision import Precision, unpacked
from adagrain.models.numerics.matmul import to_tensor
from adagrain.models.rescale import EXPONENTS

from .scales import logarithms

__all__ = ["Rescaling"]


@dataclass(frozen=True)
class Rescaling:
    """Rescaling of sums to numbers of a precision, on the device.

    Parameters
    ----------
    to : Precision
        Of the numbers.
    scale : float
        What they are multiples of.
    exponents : array of int64, shape (n,)
        Of the power of two by which the sums of each column are multiplied.
    """

    to: Precision
    scale: float
    exponents: NDArray[np.int64]

    @classmethod
    def of(cls, to: Precision, to_scale: Any, exponents: NDArray[np.int64]) -> Self:
        """The rescaling that makes sums multiples of ``to_scale``.

        Parameters
        ----------
        exponents : array of int64
            Logarithms of what the sums of each column are multiples of.

        Raises
        ------
        TypeError, ValueError
            If ``to_scale`` is no power of two, or a column's power of two is out of range.
        """
        steps = logarithms("to_scale", to_scale)
        if steps.size != 1:
            raise ValueError(f"to_scale must be one number, not {steps.size}")
        found = exponents - steps
        wrong = found[(found < EXPONENTS[0]) | (found > EXPONENTS[-1])]
        if wrong.size:
            raise ValueError(
                f"scales of a and b over to_scale must be from 2**{EXPONENTS[0]} to "
                f"2**{EXPONENTS[-1]}, not 2**{wrong[0]}"
            )
        return cls(to, math.ldexp(1.0, int(steps[0])), found)

    def numbers(self, words: np.ndarray) -> np.ndarray:
        """Bits of floating-point numbers, or integers, of rows of words; those of the rest too."""
        return unpacked(words.astype(np.int64), self.to).reshape(len(words), -1)

    def tensor(self, numbers: np.ndarray) -> torch.Tensor:
        """The same as float32, float16 or int8."""
        if self.to.integer:
            return torch.from_numpy(numbers.astype(np.int8))
        return to_tensor(numbers, self.to)
