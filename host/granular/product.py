"""The product of a granular layer: forward in its units' precisions, straight through backward."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from adagrain.models.dither import dithered
from adagrain.models.precision import Precision
from adagrain.models.quantisation import rounded

__all__ = ["Multiply", "Part", "Plan", "straight_through"]

#: Computes ``x @ weight.T`` in a precision, as :func:`adagrain.models.quantisation.product` does.
Multiply = Callable[[torch.Tensor, torch.Tensor, Precision], torch.Tensor]

#: Power of two below which the largest gradient is brought before it becomes FP16.
_GRADIENT_EXPONENT = 10


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
    parts : sequence of Part
        All outputs, in order.
    multiply : callable
        What computes the forward pass.
    work : Counter
        Takes up how many multiplications are done, by precision.
    """

    parts: Sequence[Part]
    multiply: Multiply
    work: Counter[Precision]


def straight_through(
    x: torch.Tensor, weight: torch.Tensor, thresholds: torch.Tensor, plan: Plan
) -> torch.Tensor:
    """``x @ weight.T`` as planned; gradients as if nothing had been rounded in the forward pass.

    The backward pass multiplies operands of its own precision in float32. Integers of the
    gradient have a scale for each sample in the product with the weights, and one for each output
    in that with ``x``; those of the weights one for each input. Gradients are dithered
    (:mod:`adagrain.models.dither`): rounded to nearest, their small elements would be lost.

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
        ctx.save_for_backward(x, weight, thresholds)
        ctx.plan = plan
        found = [plan.multiply(x, weight[part.outputs], part.forward) for part in plan.parts]
        for part, columns in zip(plan.parts, found, strict=True):
            plan.work[part.forward] += columns.numel() * x.shape[1]
        return found[0] if len(found) == 1 else torch.cat(found, dim=1)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x, weight, thresholds = ctx.saved_tensors
        of_x, of_weight, of_thresholds, _ = ctx.needs_input_grad
        to_x = torch.zeros_like(x) if of_x else None
        to_weight = torch.empty_like(weight) if of_weight else None
        for part in ctx.plan.parts:
            columns, precision = gradients[0][:, part.outputs], part.backward
            work = columns.numel() * x.shape[1]
            if to_x is not None:
                rows = rounded(weight[part.outputs].t(), precision, by_row=True).t()
                to_x.addmm_(_rounded_gradient(columns, precision), rows)
                ctx.plan.work[precision] += work
            if to_weight is not None:
                outputs = _rounded_gradient(columns.t(), precision)
                torch.mm(outputs, rounded(x, precision), out=to_weight[part.outputs])
                ctx.plan.work[precision] += work
        nothing = torch.zeros_like(thresholds) if of_thresholds else None
        return to_x, to_weight, nothing, None


def _rounded_gradient(gradient: torch.Tensor, precision: Precision) -> torch.Tensor:
    """A gradient in a precision, row by row; FP16 with a power of two that keeps it in range."""
    if precision.integer:
        return dithered(gradient, precision, name="gradient")
    if precision is Precision.FP32:
        return gradient
    largest = gradient.abs().amax(dim=1, keepdim=True)
    up = _GRADIENT_EXPONENT - torch.frexp(largest).exponent
    return torch.ldexp(rounded(torch.ldexp(gradient, up), precision), -up)
