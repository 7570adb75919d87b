"""What the task teaches the thresholds between precisions: what rounding costs the loss."""

from typing import Any

import torch

from adagrain.models.precision import Precision
from adagrain.models.precision_controller import precision_of_rank
from adagrain.models.quantisation import rounded

__all__ = ["taught"]


def taught(
    y: torch.Tensor,
    shares: torch.Tensor,
    rows: torch.Tensor,
    weight: torch.Tensor,
    *,
    sizes: list[int],
    samples: int,
) -> torch.Tensor:
    """A product as it is; in the backward pass each precision's cost goes to its share.

    A precision's cost is by how much its rounding errors make the loss larger. To first order they
    make it no larger, for they have no direction and the weights are near a minimum; to second
    order, with the empirical Fisher information in place of the Hessian, by half the mean square
    of gradient times error, summed over all that a sample computes. (LeCun, Denker and Solla:
    Optimal Brain Damage, 1989; Theis and others: Faster gaze prediction with dense networks and
    Fisher pruning, 2018.) Where the product is scaled by a power of two, costs stay as they are.

    Parameters
    ----------
    y : Tensor, shape (m, n)
        The product that the loss is made of.
    shares : Tensor, shape (units, 4)
        By rank; precisions that no unit has a share of are not computed.
    rows, weight : Tensor, shapes (m, k) and (n, k)
        Operands as they are, without gradients.
    sizes : list of int
        Outputs of each unit.
    samples : int
        Of which the loss is the mean; each has as many of the rows, in order.

    Returns
    -------
    Tensor, shape (m, n)
        ``y``. Errors that are not finite are taken as none.

    Raises
    ------
    ValueError
        If integers have to stand for what is not finite.
    """
    exact = rows @ weight.t()
    errors = exact.new_zeros(shares.shape[1], *exact.shape)
    for rank, error in enumerate(errors):
        precision = precision_of_rank(rank)
        if precision is not Precision.FP32 and shares[:, rank].any():
            by_row = rounded(weight, precision, by_row=True)
            torch.mm(rounded(rows, precision), by_row.t(), out=error)
            error.sub_(exact).nan_to_num_(0.0, 0.0, 0.0)
    return _Taught.apply(y, shares, errors, sizes, samples)


class _Taught(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        y: torch.Tensor,
        shares: torch.Tensor,
        errors: torch.Tensor,
        sizes: list[int],
        samples: int,
    ) -> torch.Tensor:
        ctx.save_for_backward(errors)
        ctx.sizes, ctx.samples = sizes, samples
        return y.view_as(y)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (errors,) = ctx.saved_tensors
        by_unit = (errors * gradients[0]).split(ctx.sizes, dim=2)
        by_sample = [
            part.reshape(len(errors), ctx.samples, -1).sum(dim=2).square().sum(dim=1)
            for part in by_unit
        ]
        return gradients[0], torch.stack(by_sample) * (ctx.samples / 2), None, None, None
