"""Linear and convolutional layers that compute in the precisions of their granularity units."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from adagrain.host.product import precision_of
from adagrain.models.dot_product import EXACT_PRODUCTS
from adagrain.models.precision import Precision
from adagrain.models.quantisation import product
from adagrain.models.spread import spread_of
from adagrain.models.statistics import Statistics, statistics

from .controller import Controllers
from .lesson import taught
from .policy import Policy
from .product import Multiply, Part, Plan, straight_through
from .resources import Cost

__all__ = ["GranularConv2d", "GranularLayer", "GranularLinear"]

#: Finds the statistics of a tensor.
Measure = Callable[[torch.Tensor], Statistics]


class GranularLayer(nn.Module):
    """What the granular layers share; not for use by itself.

    Parameters
    ----------
    layer : nn.Linear or nn.Conv2d
        Whose parameters it takes over: the same objects.
    policy : Policy
        How its units choose.
    name : str
        Its name in the model, for messages.

    Members
    -------
    controllers : Controllers
        One for each granularity unit.
    first : int
        Number of its first unit in the device's table.
    multiply : callable
        What computes the forward pass: the golden model, unless a device is offered the work.
    measure : callable
        What finds the statistics of its input, likewise.
    looking : bool
        The next forward pass in training looks at its input.
    decide : callable or None
        Called in evaluation, after a look at the input and before the pass computes; without it,
        evaluation does not look.
    seen : tuple of (int, int) or None
        Variance and squared largest magnitude of the input, from the last look.
    products : int
        Multiplications of a unit's output element.
    """

    weight: torch.Tensor
    bias: torch.Tensor | None

    def __init__(self, layer: nn.Linear | nn.Conv2d, policy: Policy, name: str) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias
        self.training = layer.training
        self.policy = policy
        self.name = name
        outputs = layer.weight.shape[0]
        self.terms = layer.weight[0].numel()
        if policy.units > outputs:
            raise ValueError(
                f"units must be at most {outputs}, the outputs of {name}, not {policy.units}"
            )
        if self.terms > EXACT_PRODUCTS and policy.fixed in (None, Precision.FP16):
            raise ValueError(
                f"{name} must have at most {EXACT_PRODUCTS} inputs for FP16, not {self.terms}"
            )
        self._ends = [outputs * unit // policy.units for unit in range(policy.units + 1)]
        self.controllers = Controllers(policy, policy.units)
        self.multiply: Multiply = product
        self.measure: Measure = _measure
        self.first = 0
        self.looking = False
        self.decide: Callable[[], None] | None = None
        self.seen: tuple[int, int] | None = None
        self.samples = 0
        self._work: Counter[Precision] = Counter()

    def __getstate__(self) -> dict[str, Any]:
        """What is copied or pickled: all but the ties to a device."""
        return self.__dict__ | {"multiply": product, "measure": _measure, "decide": None}

    def macs(self) -> list[int]:
        """Multiplications of each unit in the last forward pass."""
        counts = (high - low for low, high in pairwise(self._ends))
        return [count * self.terms * self.samples for count in counts]

    def costs(self) -> list[Cost]:
        """What each unit needs for a forward pass like the last one."""
        sizes = (high - low for low, high in pairwise(self._ends))
        return [
            Cost(
                name=self.name,
                macs=macs,
                weights=size * self.terms,
                floor=precision_of(self.policy.floor),
                ceiling=precision_of(self.policy.ceiling),
            )
            for macs, size in zip(self.macs(), sizes, strict=True)
        ]

    def work(self) -> dict[Precision, int]:
        """Multiplications since the last call, forward and backward, by precision."""
        done = {precision: self._work[precision] for precision in Precision}
        self._work.clear()
        return done

    def _product(self, x: torch.Tensor, rows: torch.Tensor, samples: int) -> torch.Tensor:
        """Rows times the weights, looked at and taught where it is time to."""
        weight = self.weight.flatten(1)
        if not len(rows):
            return functional.linear(rows, weight, self.bias)
        looking = self.looking if self.training else self.decide is not None
        teaching = looking and self.training and self.policy.learns
        self.samples = len(rows)
        if looking:
            self._look(x)
        work = self._work if self.training else Counter[Precision]()
        plan = Plan(self._parts(), self.multiply, work)
        try:
            y = straight_through(rows, weight, self.controllers.thresholds, plan)
            if teaching and self.seen:
                y = self._taught(y, rows.detach(), weight.detach(), samples)
        except ValueError as error:
            raise ValueError(f"layer {self.name}: {error}") from error
        return y if self.bias is None else y + self.bias

    def _check(self, x: torch.Tensor, features: int, wanted: int) -> None:
        if x.dtype != torch.float32:
            raise TypeError(f"input of layer {self.name} must be of torch.float32, not {x.dtype}")
        if features != wanted:
            raise ValueError(
                f"input of layer {self.name} must have {wanted} features, not {features}"
            )

    def _look(self, x: torch.Tensor) -> None:
        self.looking = False
        found = spread_of(self.measure(x.detach()))
        self.seen = found
        if found is not None:
            self.controllers.spread = found[0] / found[1]
        if not self.training and self.decide is not None:
            self.decide()

    def _parts(self) -> list[Part]:
        units = zip(self.controllers.precisions, pairwise(self._ends), strict=True)
        parts = []
        for precision, group in groupby(units, key=lambda unit: unit[0]):
            ends = [end for _, unit in group for end in unit]
            outputs = slice(ends[0], ends[-1])
            parts.append(Part(outputs, precision, self.policy.of_gradients(precision)))
        return parts

    def _taught(
        self, y: torch.Tensor, rows: torch.Tensor, weight: torch.Tensor, samples: int
    ) -> torch.Tensor:
        """The product, which then teaches the thresholds; a look stands for all up to the next."""
        sizes = [high - low for low, high in pairwise(self._ends)]
        shares = self.controllers.weights() * self.policy.every
        return taught(y, shares, rows, weight, sizes=sizes, samples=samples)


class GranularLinear(GranularLayer):
    """``nn.Linear`` in the precisions of its units.

    Parameters
    ----------
    layer, policy, name
        As for :class:`GranularLayer`.
    """

    def __init__(self, layer: nn.Linear, policy: Policy, name: str) -> None:
        super().__init__(layer, policy, name)
        self.in_features, self.out_features = layer.in_features, layer.out_features

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """As ``nn.Linear``: any leading dimensions, the last one of ``in_features``."""
        self._check(x, x.shape[-1], self.in_features)
        rows = x.reshape(-1, self.in_features)
        y = self._product(x, rows, len(rows))
        return y.view(*x.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        """Shape and units, for ``print``."""
        return f"{self.in_features}, {self.out_features}, units={self.policy.units}"


class GranularConv2d(GranularLayer):
    """``nn.Conv2d`` in the precisions of its units: a product of the image's patches.

    Parameters
    ----------
    layer, policy, name
        As for :class:`GranularLayer`. Groups and padding other than with zeros are refused.
    """

    def __init__(self, layer: nn.Conv2d, policy: Policy, name: str) -> None:
        if layer.groups != 1:
            raise ValueError(f"{name} must have 1 group, not {layer.groups}; skip it")
        if layer.padding_mode != "zeros" or isinstance(layer.padding, str):
            kind = layer.padding if isinstance(layer.padding, str) else layer.padding_mode
            raise ValueError(f"{name} must be padded with a number of zeros, not {kind!r}; skip it")
        super().__init__(layer, policy, name)
        self.in_channels, self.out_channels = layer.in_channels, layer.out_channels
        self._size = layer.kernel_size
        self._dilation, self._stride = layer.dilation, layer.stride
        self._padding = tuple(int(padding) for padding in layer.padding)

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """As ``nn.Conv2d``: shape (samples, channels, height, width)."""
        if x.dim() != 4:
            raise ValueError(f"input of layer {self.name} must have 4 dimensions, not {x.dim()}")
        self._check(x, x.shape[1], self.in_channels)
        patches = functional.unfold(x, self._size, self._dilation, self._padding, self._stride)
        y = self._product(x, patches.transpose(1, 2).reshape(-1, self.terms), len(x))
        images = y.view(len(x), -1, self.out_channels).transpose(1, 2)
        return images.unflatten(2, self._places(x.shape[2:]))

    def _places(self, image: Sequence[int]) -> list[int]:
        """Height and width of what comes out."""
        return [
            (length + 2 * padding - dilation * (size - 1) - 1) // stride + 1
            for length, size, padding, dilation, stride in zip(
                image, self._size, self._padding, self._dilation, self._stride, strict=True
            )
        ]

    def extra_repr(self) -> str:
        """Shape and units, for ``print``."""
        return f"{self.terms} products, {self.out_channels}, units={self.policy.units}"


def _measure(x: torch.Tensor) -> Statistics:
    return statistics(x, None, powers=2)
