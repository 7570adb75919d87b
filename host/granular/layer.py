"""Base of layers that compute in the precisions of their channel groups."""

import math
from collections import Counter
from collections.abc import Callable
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import torch
from torch import nn

from adagrain.models.interface.precision import Precision
from adagrain.models.numerics.normalised_variance import exponent_of, normalised_variance_of
from adagrain.models.numerics.quantisation import check_terms, multiplied
from adagrain.models.numerics.surroundings import exactly
from adagrain.models.statistics import Statistics, statistics

from .controller import Controllers
from .geometry import Geometry
from .policy import Policy
from .product import Multiply, Part, Plan, of_layer, straight_through
from .resources import Cost
from .sensitivity import with_sensitivities

__all__ = ["GranularLayer"]

#: Finds the statistics of a tensor at an exponent.
Measure = Callable[[torch.Tensor, int], Statistics]

#: What autocast makes of a float32 tensor.
_SHORT = (torch.float16, torch.bfloat16)


class PassState(NamedTuple):
    """Record of a layer's step: a look, its normalised variance, places, work."""

    seen: tuple[int, int] | None
    normalised_variance: float | None
    samples: int
    work: Counter[Precision]


class GranularLayer(nn.Module):
    """Base of the granular layers; not for use by itself.

    Parameters
    ----------
    layer : nn.Linear or nn.Conv2d
        Whose parameters it takes over: the same objects.
    policy : Policy
        How its channel groups choose.
    name : str
        Its name in the model, for messages.
    geometry : Geometry
        What makes matrices of its input.

    Members
    -------
    controllers : Controllers
        One for each channel group.
    first : int
        Number of its first channel group in the device's table.
    multiply, evaluate : callable
        What computes the forward passes in training and in evaluation: the golden model, unless a
        device is offered the work.
    measure : callable
        What finds the statistics of its input, likewise.
    looking : bool
        Forward passes in training look at their input, and give the thresholds gradients.
    decide : callable or None
        Called in evaluation, after a look at the input and before the pass computes; without it,
        evaluation does not look.
    seen : tuple of (int, int) or None
        Variance and squared largest magnitude of the input, from a look that nothing was decided
        from yet.
    samples : int
        Places of the forward passes of this training step: rows that the weights are multiplied
        with.
    places_before : int
        Those of the last training step that used it, or of an evaluation that was decided for.
    """

    weight: torch.Tensor
    bias: torch.Tensor | None
    multiply: Multiply
    evaluate: Multiply
    measure: Measure
    decide: Callable[[], None] | None
    looking: bool
    seen: tuple[int, int] | None

    def __init__(
        self, layer: nn.Linear | nn.Conv2d, policy: Policy, name: str, geometry: Geometry
    ) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias
        self.training = layer.training
        self.policy = policy
        self.name = name
        self.geometry = geometry
        outputs = layer.weight.shape[0]
        self.terms = math.prod(layer.weight.shape[1:])
        if not self.terms:
            raise ValueError(f"{name} must have at least 1 input, not 0; skip it")
        if policy.channel_groups > outputs:
            raise ValueError(
                f"channel_groups must be at most {outputs}, the outputs of {name}, "
                f"not {policy.channel_groups}"
            )
        for precision in policy.precisions:
            check_terms(self.terms, precision, name)
        count = policy.channel_groups
        self._ends = [outputs * number // count for number in range(count + 1)]
        self.controllers = Controllers(policy, count, layer.weight.device)
        self.first = 0
        self.samples = self.places_before = 0
        self._work: Counter[Precision] = Counter()
        self.release()

    def __getstate__(self) -> dict[str, Any]:
        """State that is copied or pickled: all but the ties to a device."""
        return self.__dict__ | _UNTIED

    def release(self) -> None:
        """Be tied to no device, and look at nothing."""
        self.__dict__.update(_UNTIED)

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """As the layer that it replaces; what autocast has shortened is widened again."""
        if torch.is_autocast_enabled(x.device.type) and x.dtype in _SHORT:
            x = x.float()
        self._check(x)
        with exactly():
            return self._outputs(x)

    def macs(self) -> list[int]:
        """Multiplications of each channel group in this training step's forward passes, so far."""
        return [size * self.terms * self.samples for size in self._sizes()]

    def costs(self) -> list[Cost]:
        """Cost of each channel group in a step like this one, or like the last one that used it."""
        samples, (floor, ceiling) = self.samples or self.places_before, self.policy.bounds
        return [
            Cost(
                name=self.name,
                macs=size * self.terms * samples,
                weights=size * self.terms,
                floor=floor,
                ceiling=ceiling,
            )
            for size in self._sizes()
        ]

    def work(self) -> dict[Precision, int]:
        """Multiplications of the step that ends, forward and backward, by precision."""
        done = {precision: self._work[precision] for precision in Precision}
        self._work.clear()
        self.places_before, self.samples = self.samples or self.places_before, 0
        return done

    def pass_state(self) -> PassState:
        """State that passes change: a speculative pass may have to be done again."""
        variance = self.controllers.normalised_variance
        return PassState(self.seen, variance, self.samples, self._work.copy())

    def load_pass_state(self, state: PassState) -> None:
        """Restore what :meth:`pass_state` gave."""
        self.seen, self.controllers.normalised_variance, self.samples, work = state
        self._work.clear()  # the same object: plans of passes have it
        self._work.update(work)

    def _outputs(self, x: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    def _sizes(self) -> list[int]:
        """Outputs of each channel group."""
        return [high - low for low, high in pairwise(self._ends)]

    def _product(self, x: torch.Tensor, samples: int) -> torch.Tensor:
        """Input times the weights, sampled, with threshold gradients, where it is time to."""
        thresholds = self.controllers.thresholds
        if not len(x):
            return self._biased(self.geometry.plain(x, self.weight) + 0 * thresholds.sum())
        with of_layer(self.name):
            places = self.geometry.places(x)
        self._look(x, places)
        with of_layer(self.name):
            y = straight_through(x, self.weight, thresholds, self._plan())
            if self._learns():
                # A look stands for all steps up to the next.
                shares = self.controllers.weights() * self.policy.every
                operands = x.detach(), self.weight.detach()
                y = with_sensitivities(y, shares, *operands, sizes=self._sizes(), samples=samples)
        return self._biased(y)

    def _biased(self, y: torch.Tensor) -> torch.Tensor:
        if self.bias is None:
            return y
        return y + self.bias.view(-1, *(1 for _ in y.shape[2:]))

    def _check(self, x: torch.Tensor) -> None:
        for what, tensor in (("input", x), ("weight", self.weight)):
            if tensor.dtype != torch.float32:
                raise TypeError(
                    f"{what} of layer {self.name} must be of torch.float32, not {tensor.dtype}"
                )

    def _check_features(self, features: int, wanted: int) -> None:
        if features != wanted:
            raise ValueError(
                f"input of layer {self.name} must have {wanted} features, not {features}"
            )

    def _look(self, x: torch.Tensor, places: int) -> None:
        """Look at the input, if it is time to; in training, once a step."""
        if self.training:
            self.samples += places
            if self.looking and not self.seen:
                self._measure(x)
        elif self.decide is not None:
            self.places_before = places
            self._measure(x)
            self.decide()

    def _measure(self, x: torch.Tensor) -> None:
        x = x.detach()
        found = normalised_variance_of(self.measure(x, exponent_of(x)))
        self.seen = found
        if found is not None:
            self.controllers.normalised_variance = found[0] / found[1]

    def _learns(self) -> bool:
        """True where this pass gives the thresholds gradients."""
        looked = self.training and self.looking and self.seen is not None
        return looked and self.policy.learns and torch.is_grad_enabled()

    def _plan(self) -> Plan:
        if self.training:
            return Plan(self.name, self._parts(), self.geometry, self.multiply, self._work)
        return Plan(self.name, self._parts(), self.geometry, self.evaluate, Counter())

    def _parts(self) -> list[Part]:
        channel_groups = zip(self.controllers.precisions, pairwise(self._ends), strict=True)
        parts = []
        for precision, alike in groupby(channel_groups, key=lambda each: each[0]):
            ends = [end for _, low_and_high in alike for end in low_and_high]
            outputs = slice(ends[0], ends[-1])
            parts.append(Part(outputs, precision, self.policy.of_gradients(precision)))
        return parts


def _statistics(x: torch.Tensor, exponent: int) -> Statistics:
    return statistics(x, exponent, powers=2)


#: What ties a layer to no device, and has it look at nothing.
_UNTIED = {
    "multiply": multiplied,
    "evaluate": multiplied,
    "measure": _statistics,
    "decide": None,
    "looking": False,
    "seen": None,
}
