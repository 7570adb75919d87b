"""In which precision a product comes back, and by what its sums are multiplied for that."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch

from adagrain.models.matmul import to_tensor
from adagrain.models.precision import Precision, unpacked
from adagrain.models.rescale import EXPONENTS

from .scales import Scales, check_power_of_two

__all__ = ["Rescaling"]


@dataclass(frozen=True)
class Rescaling:
    """How sums become numbers of a precision, on the device.

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
    exponents: np.ndarray

    @classmethod
    def of(cls, to: Precision, to_scale: float, scales: Scales | None, columns: int) -> Self:
        """What turns a product, of which operands have sound scales, into such numbers.

        Raises
        ------
        ValueError
            If ``to_scale`` is no power of two, or a column's power of two is out of range.
        """
        check_power_of_two("to_scale", torch.tensor([to_scale], dtype=torch.float64))
        a, b = (_exponents(scale) for scale in scales or (1.0, 1.0))
        exponents = np.broadcast_to(a + b - _exponents(to_scale), columns)
        wrong = exponents[(exponents < EXPONENTS[0]) | (exponents > EXPONENTS[-1])]
        if wrong.size:
            raise ValueError(
                f"scales of a and b over to_scale must be from 2**{EXPONENTS[0]} to "
                f"2**{EXPONENTS[-1]}, not 2**{wrong[0]}"
            )
        return cls(to, to_scale, exponents)

    def numbers(self, words: np.ndarray) -> np.ndarray:
        """Bits of floating-point numbers, or integers, of rows of words; those of the rest too."""
        return unpacked(words.astype(np.int64), self.to).reshape(len(words), -1)

    def tensor(self, numbers: np.ndarray) -> torch.Tensor:
        """The same as float32, float16 or int8."""
        if self.to.integer:
            return torch.from_numpy(numbers.astype(np.int8))
        return to_tensor(numbers, self.to)


def _exponents(scale: object) -> np.ndarray:
    """Logarithms of powers of two."""
    mantissas = torch.as_tensor(scale, dtype=torch.float64).flatten().frexp()
    return mantissas.exponent.numpy().astype(np.int64) - 1
