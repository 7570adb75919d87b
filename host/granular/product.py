"""The product of a granular layer: forward in its units' precisions, straight through backward."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from adagrain.models.dither import dithered
from adagrain.models.precision import Precision
from adagrain.models.quantisation import rounded

__all__ = ["Multiply", "Part", "Plan", "exactly", "of_layer", "straight_through"]

#: Computes ``x @ weight.T`` in a precision, as :func:`adagrain.models.quantisation.product` does.
Multiply = Callable[[torch.Tensor, torch.Tensor, Precision], torch.Tensor]

#: Power of two below which the largest number of a row is brought before it becomes FP16, and the
#: largest one that it is multiplied by, whose reciprocal is still a normal number.
_EXPONENT, _MOST_UP = 10, 126

#: Between what largest magnitudes other operands are left where they are.
_LEAST, _MOST = 2.0**-6, 2.0**15


@dataclass(frozen=True)
class Part:
    """Outputs that are computed in the same precision.

    Parameters
    ----------
    outputs : slice
        Which ones.
    forward, backward : Precision
        Of the product, and of the two products of the backward pass.
    """

    outputs: slice
    forward: Precision
    backward: Precision


@dataclass(frozen=True)
class Plan:
    """How a layer computes for now.

    Parameters
    ----------
    name : str
        Of the layer, for messages.
    parts : sequence of Part
        All outputs, in order.
    multiply : callable
        What computes the forward pass.
    work : Counter
        Takes up how many multiplications are done, by precision.
    """

    name: str
    parts: Sequence[Part]
    multiply: Multiply
    work: Counter[Precision]


def exactly(x: torch.Tensor) -> torch.autocast:
    """Leave no choice of precision to ``torch.autocast``."""
    return torch.autocast(x.device.type, enabled=False)


@contextmanager
def of_layer(name: str) -> Iterator[None]:
    """Have errors name the layer that they come from."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"layer {name}: {error}") from error


def straight_through(
    x: torch.Tensor, weight: torch.Tensor, thresholds: torch.Tensor, plan: Plan
) -> torch.Tensor:
    """``x @ weight.T`` as planned; gradients as if nothing had been rounded in the forward pass.

    The backward pass multiplies operands of its own precision in float32. Integers of the
    gradient have a scale for each sample in the product with the weights, and one for each output
    in that with ``x``; those of the weights one for each input. Gradients are dithered
    (:mod:`adagrain.models.dither`): rounded to nearest, their small elements would be lost. What
    becomes FP16 in the backward pass is brought into its range by powers of two. There is no second
    derivative.

    Parameters
    ----------
    x : Tensor, shape (m, k)
        float32.
    weight : Tensor, shape (n, k)
        float32.
    thresholds : Tensor
        Gets a gradient of 0, so that DistributedDataParallel finds it used in each step.
    plan : Plan
        What to compute, and with what.

    Returns
    -------
    Tensor of float32, shape (m, n)
    """
    return _Product.apply(x, weight, thresholds, plan)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, weight: torch.Tensor, thresholds: torch.Tensor, plan: Plan
    ) -> torch.Tensor:
        ctx.save_for_backward(x, weight)
        ctx.plan, ctx.thresholds = plan, thresholds.shape
        found = [plan.multiply(x, weight[part.outputs], part.forward) for part in plan.parts]
        for part, columns in zip(plan.parts, found, strict=True):
            plan.work[part.forward] += columns.numel() * x.shape[1]
        return found[0] if len(found) == 1 else torch.cat(found, dim=1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (gradient,) = gradients
        nothing = gradient.new_zeros(ctx.thresholds) if ctx.needs_input_grad[2] else None
        with exactly(gradient), of_layer(ctx.plan.name):
            return *_Product._products(ctx, gradient), nothing, None

    @staticmethod
    def _products(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Gradients of ``x`` and of the weights."""
        x, weight = ctx.saved_tensors
        of_x, of_weight, *_ = ctx.needs_input_grad
        to_x: torch.Tensor | None = None
        to_weight = torch.empty_like(weight) if of_weight else None
        for part in ctx.plan.parts:
            columns, precision = gradient[:, part.outputs], part.backward
            work = columns.numel() * x.shape[1]
            if of_x:
                rows = _operand(weight[part.outputs].t(), precision, by_row=True, name="weight")
                share = _rounded_gradient(columns, precision) @ rows.t()
                to_x = share if to_x is None else to_x.add_(share)
                ctx.plan.work[precision] += work
            if to_weight is not None:
                outputs = _rounded_gradient(columns.t(), precision)
                torch.mm(outputs, _operand(x, precision), out=to_weight[part.outputs])
                ctx.plan.work[precision] += work
        return to_x, to_weight


def _operand(x: torch.Tensor, precision: Precision, **options: Any) -> torch.Tensor:
    """An operand in a precision; FP16 with powers of two where it is far from what that holds."""
    if precision is Precision.FP16 and not _LEAST < torch.maximum(x.amax(), -x.amin()) < _MOST:
        return _half(x)
    return rounded(x, precision, **options)


def _rounded_gradient(gradient: torch.Tensor, precision: Precision) -> torch.Tensor:
    """A gradient in a precision, row by row."""
    if precision.integer:
        return dithered(gradient, precision, name="gradient")
    return _half(gradient) if precision is Precision.FP16 else gradient


def _half(x: torch.Tensor) -> torch.Tensor:
    """Numbers rounded to FP16, each row with a power of two that brings it into range."""
    largest = torch.maximum(x.amax(dim=1, keepdim=True), x.amin(dim=1, keepdim=True).neg_())
    exponent = (_EXPONENT - torch.frexp(largest).exponent).clamp(max=_MOST_UP)
    up = torch.ldexp(torch.ones_like(largest), exponent)
    return rounded(x * up, Precision.FP16).mul_(up.reciprocal_())
