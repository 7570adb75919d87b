"""Operands of matrix products, and a device for them, which has all other units too."""

import torch

from adagrain.models.interface.configuration import configuration
from adagrain.models.interface.precision import Precision
from adagrain.models.numerics.matrices import DTYPES

#: Slices of :data:`GRANULAR`: FP32, FP16, INT8 and INT4 take 5, 3, 2 and 1 words of a row.
SLICES = 5
#: A device with all units and precisions, of which there is one so that it is compiled once.
GRANULAR = configuration("whole", regions=256, slices=SLICES, operands=64)

#: One tile; a ragged one; sums that do not fit the memories; columns that do not.
SHAPES = [(8, 8, 5), (9, 13, 7), (3, 300, 3), (11, 8, 170)]


def operands(m: int, k: int, n: int, precision: Precision) -> tuple[torch.Tensor, torch.Tensor]:
    """Matrices of shapes (m, k) and (k, n), the same each time."""
    generator = torch.Generator().manual_seed(m + k + n)
    if precision.integer:
        reach = 1 << (precision.bits - 1)
        made = [torch.randint(-reach, reach, s, generator=generator) for s in ((m, k), (k, n))]
    else:
        made = [torch.randn(s, generator=generator) for s in ((m, k), (k, n))]
    a, b = (matrix.to(DTYPES[precision]) for matrix in made)
    return a, b
