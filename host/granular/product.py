"""The product of a granular layer: forward in chosen precisions, straight through backward."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from adagrain.models.interface.precision import Precision
from adagrain.models.numerics.magnitude import absmax
from adagrain.models.numerics.quantisation import Operand, operand, rounded
from adagrain.models.numerics.stochastic_rounding import stochastically_rounded
from adagrain.models.numerics.surroundings import exactly

from .geometry import Geometry

__all__ = ["Multiply", "Part", "Plan", "of_layer", "straight_through"]

#: Multiplies two operands, as :func:`adagrain.models.numerics.quantisation.multiplied` does.
Multiply = Callable[[Operand, Operand], torch.Tensor]

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
    """Plan of a layer's product, for now.

    Parameters
    ----------
    name : str
        Of the layer, for messages.
    parts : sequence of Part
        All outputs, in order.
    geometry : Geometry
        What its input, weights and outputs are as matrices.
    multiply : callable
        What computes the forward pass.
    work : Counter
        Takes up how many multiplications are done, by precision.
    """

    name: str
    parts: Sequence[Part]
    geometry: Geometry
    multiply: Multiply
    work: Counter[Precision]


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
    """The product of ``x`` and the weights as planned; gradients as if nothing had been rounded.

    The backward pass multiplies operands of its own precision in float32. Integers of the
    gradient have a scale for each place in the product with the weights, and one for each output
    in that with ``x``; those of the weights one for each input. Gradients are rounded
    stochastically (:mod:`adagrain.models.numerics.stochastic_rounding`): rounded to nearest, their
    small elements would be lost. What becomes FP16 in the backward pass is brought into its
    range by powers of two. There is no second derivative.

    Parameters
    ----------
    x : Tensor
        float32, of the shape that the plan's geometry asks for.
    weight : Tensor
        float32, likewise; the outputs first.
    thresholds : Tensor
        Gets a gradient of 0, so that DistributedDataParallel finds it used in each step.
    plan : Plan
        What to compute, and with what.

    Returns
    -------
    Tensor of float32
        With outputs in dimension 1.
    """
    return _Product.apply(x, weight, thresholds, plan)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, weight: torch.Tensor, thresholds: torch.Tensor, plan: Plan
    ) -> torch.Tensor:
        ctx.save_for_backward(x, weight)
        ctx.plan, ctx.thresholds = plan, thresholds.shape
        terms = weight[0].numel()
        found = []
        for part in plan.parts:
            precision, rows = part.forward, weight[part.outputs].flatten(1)
            a = operand(x, precision)
            a = replace(a, numbers=plan.geometry.rows(a.numbers))
            columns = plan.multiply(a, operand(rows, precision, along=(1,), name="weight"))
            plan.work[precision] += columns.numel() * terms
            found.append(columns)
        return plan.geometry.outputs(_joined(found, dim=-1), x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (gradient,) = gradients
        nothing = gradient.new_zeros(ctx.thresholds) if ctx.needs_input_grad[2] else None
        with exactly(), of_layer(ctx.plan.name):
            return *_Product._products(ctx, gradient), nothing, None

    @staticmethod
    def _products(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Gradients of ``x`` and of the weights."""
        x, weight = ctx.saved_tensors
        geometry, work = ctx.plan.geometry, ctx.plan.work
        of_x, of_weight, *_ = ctx.needs_input_grad
        others = (0, *range(2, gradient.dim()))
        to_x: torch.Tensor | None = None
        to_weight: list[torch.Tensor] = []
        for part in ctx.plan.parts:
            columns, rows, precision = (
                gradient[:, part.outputs],
                weight[part.outputs],
                part.backward,
            )
            count = columns.numel() * weight[0].numel()
            if of_x:
                share = geometry.to_input(
                    _rounded_gradient(columns, precision, along=(1,)),
                    _operand(rows, precision, along=(0,), name="weight"),
                    x,
                )
                to_x = share if to_x is None else to_x.add_(share)
                work[precision] += count
            if of_weight:
                outputs = _rounded_gradient(columns, precision, along=others)
                to_weight.append(geometry.to_weight(outputs, rows, _operand(x, precision)))
                work[precision] += count
        return to_x, _joined(to_weight, dim=0) if of_weight else None


def _joined(parts: Sequence[torch.Tensor], dim: int) -> torch.Tensor:
    """All parts after each other; of one, no copy."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), dim=dim)


def _operand(
    x: torch.Tensor, precision: Precision, *, along: tuple[int, ...] | None = None, name: str = "x"
) -> torch.Tensor:
    """An operand in a precision; FP16 with powers of two where it is far from what that holds."""
    if precision is Precision.FP16 and not _LEAST < absmax(x) < _MOST:
        return _half(x, along or (1,))
    return rounded(x, precision, along=along, name=name)


def _rounded_gradient(
    gradient: torch.Tensor, precision: Precision, *, along: tuple[int, ...]
) -> torch.Tensor:
    """A gradient in a precision."""
    if precision.integer:
        return stochastically_rounded(gradient, precision, along=along, name="gradient")
    return _half(gradient, along) if precision is Precision.FP16 else gradient


def _half(x: torch.Tensor, along: tuple[int, ...]) -> torch.Tensor:
    """Numbers rounded to FP16, brought into range by powers of two that they share along these."""
    largest = absmax(x, along)
    exponent = (_EXPONENT - torch.frexp(largest).exponent).clamp(max=_MOST_UP)
    up = torch.ldexp(torch.ones_like(largest), exponent)
    return rounded(x * up, Precision.FP16).mul_(up.reciprocal_())
