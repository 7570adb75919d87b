"""Sensitivities: what rounding to each precision costs the loss, as gradients of thresholds."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from adagrain.models.interface.precision import Precision
from adagrain.models.numerics.magnitude import absmax
from adagrain.models.numerics.quantisation import fits, rounded
from adagrain.models.numerics.surroundings import exactly
from adagrain.models.precision_controller import precision_of_rank

__all__ = ["with_sensitivities"]


def with_sensitivities(
    y: torch.Tensor,
    shares: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    *,
    sizes: Sequence[int],
    samples: int,
) -> torch.Tensor:
    """A product as it is; in the backward pass each precision's cost goes to its share.

    A precision's cost is by how much its rounding errors make the loss larger. To first order they
    make it no larger, for they have no direction and the weights are near a minimum; to second
    order, with the empirical Fisher information in place of the Hessian, by half the mean square
    of gradient times error, summed over all that a sample computes. (LeCun, Denker and Solla:
    Optimal Brain Damage, 1989; Theis and others: Faster gaze prediction with dense networks and
    Fisher pruning, 2018.)

    Rounding errors of two operands are taken as independent, so that squares add up, and so are
    gradients of outputs, weights of an input, and inputs: of gradients, a row's and a column's sum
    of squares is all that is needed, of weights and inputs a column's mean square. (Shazeer and
    Stern: Adafactor, 2018, factor second moments alike.) So no product is computed for a threshold
    gradient, in no precision: it takes as many operations as there are operands and gradients,
    for each channel group. Of images, the places and a kernel's weights of a channel are taken as
    alike, too.

    Where the product is scaled by a power of two, costs stay as they are. A precision that
    operands or outputs are too large for counts as losing the whole product.

    Parameters
    ----------
    y : Tensor, shape (m, n, ...)
        The product that the loss is made of.
    shares : Tensor, shape (channel_groups, 4)
        By rank; those of no channel group's are not looked at.
    x, weight : Tensor, shapes (m, k, ...) and (n, k, ...)
        Operands as they are, without gradients; further dimensions are an image's and a kernel's.
    sizes : sequence of int
        Outputs of each channel group.
    samples : int
        Of which the loss is the mean; each has as many of the rows, in order.

    Returns
    -------
    Tensor, shape (m, n, ...)
        ``y``, the same tensor.
    """
    squares = _of_kernels(_squares(weight))
    squares = torch.stack([part.mean(dim=0) for part in squares.split(list(sizes))])
    inputs = _of_images(_squares(x)).mean(dim=0)
    by_row = inputs.new_zeros(shares.shape[1], len(x), len(sizes))
    by_column = inputs.new_zeros(shares.shape[1], len(weight))
    found = [absmax(each.detach()).view(()) for each in (x, weight, y)]
    largest = torch.stack(found).amax().item()
    others = tuple(range(1, weight.dim()))
    for rank in range(shares.shape[1]):
        precision = precision_of_rank(rank)
        if precision is Precision.FP32 or not shares[:, rank].any():
            continue
        if fits(largest, precision):
            errors = _of_images(_errors(x, precision))
            torch.mm(errors, squares.t(), out=by_row[rank])
            errors = _of_kernels(_errors(weight, precision, along=others))
            torch.mv(errors, inputs, out=by_column[rank])
        else:
            torch.mm(_of_images(_squares(x)), squares.t(), out=by_row[rank])
    return _ThresholdGradient.apply(y, shares, by_row, by_column, sizes, samples)


def _errors(x: torch.Tensor, precision: Precision, **options: Any) -> torch.Tensor:
    """Squares of what rounding does to each element."""
    return _squares(rounded(x, precision, **options).sub_(x))


def _of_images(squares: torch.Tensor) -> torch.Tensor:
    """Means of each sample's images, shape (m, k)."""
    return squares.flatten(2).mean(dim=2) if squares.dim() > 2 else squares


def _of_kernels(squares: torch.Tensor) -> torch.Tensor:
    """Sums of each channel's weights, shape (n, k)."""
    return squares.flatten(2).sum(dim=2) if squares.dim() > 2 else squares


def _squares(x: torch.Tensor) -> torch.Tensor:
    """Squares, of which none is too large or too small: those of float32 numbers as float64."""
    return x.double().square_()


class _ThresholdGradient(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        y: torch.Tensor,
        shares: torch.Tensor,
        by_row: torch.Tensor,
        by_column: torch.Tensor,
        sizes: Sequence[int],
        samples: int,
    ) -> torch.Tensor:
        ctx.save_for_backward(by_row, by_column)
        ctx.sizes, ctx.samples = list(sizes), samples
        ctx.mark_dirty(y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        by_row, by_column = ctx.saved_tensors
        with exactly():
            # Of images, sums over the places.
            squares = _of_kernels(_squares(gradients[0])).split(ctx.sizes, dim=1)
            of_rows = torch.stack([part.sum(dim=1) for part in squares], dim=1)
            of_columns = torch.stack(
                [
                    errors @ part.sum(dim=0)
                    for errors, part in zip(by_column.split(ctx.sizes, dim=1), squares, strict=True)
                ]
            )
            costs = (by_row * of_rows).sum(dim=1).t() + of_columns
        return gradients[0], costs.float() * (ctx.samples / 2), None, None, None, None
