"""Operands of matrix products."""

import torch

from adagrain.models.matrices import DTYPES
from adagrain.models.precision import Precision


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
