"""The beginning of a flight: what a step whose gradients have departed will be updated with."""

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import nn

from adagrain.host.distributed.stages import Stages
from adagrain.host.distributed.step import Step
from adagrain.host.regions.regions import Regions

from .decisions import Decisions
from .departure import Departure
from .flight import Flight
from .options import SpeculationOptions
from .replay import Replay
from .unchanged import Unchanged

__all__ = ["TakeOff"]

#: Hooks in front of an optimizer's steps that the speculation has put there, to refuse them.
_OWN_HOOKS = 1


class TakeOff:
    """Makes the flight of a step, at its commit: while the clock shows it, and rates are its own.

    Parameters
    ----------
    optimizers : sequence of torch.optim.Optimizer
        What updates.
    regions : Regions
        What is updated.
    stages : Stages
        The clock, and the accumulators.
    decisions : Decisions
        What has been decided last.
    options : SpeculationOptions
        How to speculate.
    apart : sequence of Parameter
        Those in no region: they are updated in each step.
    """

    def __init__(
        self,
        optimizers: Sequence[torch.optim.Optimizer],
        regions: Regions,
        stages: Stages,
        decisions: Decisions,
        options: SpeculationOptions,
        apart: Sequence[nn.Parameter],
    ) -> None:
        self._optimizers = optimizers
        self._regions = regions
        self._stages = stages
        self._decisions = decisions
        self._options = options
        self._apart = apart
        names = {part.parameter: part.name for region in regions for part in region.slices}
        self._unchanged = Unchanged(names)
        self._known = {id(own) for own in _parameters_of(optimizers)}

    def check(self) -> None:
        """See to it that the optimizers have the parameters that they had, and no hooks.

        Raises
        ------
        RuntimeError
            If one has another parameter; if somebody else than the speculation has put a hook on
            its steps.
        """
        for optimizer in self._optimizers:
            before, behind = (
                optimizer._optimizer_step_pre_hooks,
                optimizer._optimizer_step_post_hooks,
            )
            if len(before) > _OWN_HOOKS or behind:
                raise RuntimeError(
                    f"{type(optimizer).__name__} must have no hooks on its steps, which come in "
                    f"parts, but has {len(before) + len(behind) - _OWN_HOOKS}: call them behind "
                    "the speculation's step"
                )
        for parameter in _parameters_of(self._optimizers):
            if id(parameter) not in self._known:
                raise RuntimeError(
                    "optimizers must have the parameters that they had when speculation began, "
                    f"but a new one is of shape {tuple(parameter.shape)}: close() and begin anew"
                )

    def flight(self, departure: Departure, redone: int, *, alone: bool) -> Flight:
        """The flight of a step.

        Parameters
        ----------
        departure : Departure
            All of whose gradients have departed.
        redone : int
            Passes that were done again in it.
        alone : bool
            No other one is under way.
        """
        assert departure.step is not None
        if alone:
            self._unchanged.begin()
        cadences = self._due()
        every_step = dict.fromkeys(self._apart, 1)
        cap, unchanged = self._options.cap, self._unchanged
        replay = Replay(self._optimizers, cadences | every_step, cap, unchanged)
        flight = Flight(
            *(departure.step, replay, self._means(departure, cadences)),
            *(self._gains(departure.step), departure.departed),
            *({own: departure.gradients[own] for own in self._apart}, redone),
        )
        flight.weights = self._decisions.checksums(departure.step.number)
        return flight

    def _gains(self, step: Step) -> list[int]:
        """Sixteenths of a step's local gradients that enter guesses, by region.

        Several updates deep it is all or nothing: there a smaller gain makes training unstable.
        Local gradients that are not finite are no guess.
        """
        wrong = {region for region, own in step.local.items() if own.non_finite}
        if wrong and self._options.clip is not None:  # their norm scales all others
            wrong = {*step.local}
        return [
            0 if region in wrong else 16 if gain and self._options.depth > 1 else gain
            for region, gain in enumerate(self._decisions.gains)
        ]

    def _due(self) -> dict[nn.Parameter, int]:
        """Parameters that are due, with the steps that they have accumulated."""
        clock, regions = self._stages.clock, self._regions
        return {
            part.parameter: clock.cadences[region]
            for region in clock.due
            for part in regions[region].slices
        }

    def _means(
        self, departure: Departure, cadences: Mapping[nn.Parameter, int]
    ) -> dict[nn.Parameter, torch.Tensor]:
        """This worker's means over the steps that were accumulated, by parameter that is due."""
        mean = self._stages.accumulators.mean
        return {
            parameter: departure.gradients[parameter] if cadence == 1 else mean(parameter)
            for parameter, cadence in cadences.items()
        }


def _parameters_of(optimizers: Sequence[torch.optim.Optimizer]) -> Iterator[nn.Parameter]:
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            yield from group["params"]
