"""Rounding that is right on average, and the same each time.

A number between two integers goes to the upper one as often as it is near to it; a hash of the
number's own fraction and of its place in the tensor takes the part of chance. So small numbers are
not lost in a sum of many, as rounding to nearest would lose them, however many of them are equal;
and yet no state of a random generator has to be kept: equal tensors are rounded alike, on every
machine, and a tensor times a power of two to the same integers. Chances are multiples of 2^-16:
what is nearer to an integer than 2^-17 of a step becomes that.
"""

import torch

from adagrain.models.interface.precision import LEVELS, Precision, precision_of

from .quantisation import scale_of
from .rounding import multiples
from .surroundings import exactly

__all__ = ["stochastically_rounded"]


@exactly()
def stochastically_rounded(
    x: torch.Tensor,
    precision: Precision | str,
    *,
    along: tuple[int, ...] | None = None,
    name: str = "x",
) -> torch.Tensor:
    """Multiples of powers of two, as float32.

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
        Integers of the precision, times their scale.

    Raises
    ------
    TypeError, ValueError
        As :func:`adagrain.models.numerics.quantisation.scale_of`.
    """
    scale = scale_of(x, precision, along=along, name=name)
    return multiples(x, scale, along, LEVELS[precision_of(precision)], stochastic=True, valued=True)
