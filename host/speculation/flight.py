"""The context of a step whose update is in flight."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import nn

from adagrain.host.distributed.exchange import Pending
from adagrain.host.distributed.step import Step

from .replay import Replay

__all__ = ["Departed", "Flight"]


class Departed(NamedTuple):
    """Regions of a bucket that are due, and whose exchange is under way."""

    regions: Sequence[int]
    pending: Pending


@dataclass(eq=False)
class Flight:
    """A step from its first contribution to a collective until its last region is updated.

    Parameters
    ----------
    step : Step
        The same step, as the stages know it.
    replay : Replay
        The optimizers, with the options that the step has seen.
    gradients : mapping
        This worker's own means over the steps that were accumulated, by parameter that is due; for
        guesses.
    gains : list of int
        Sixteenths of them that enter guesses, by region; 0: it is not guessed.
    departed : list of Departed
        What was not applied yet.
    apart : mapping
        Gradients of parameters in no region, which become their averages.
    passes_redone : int
        Passes that were done again before it.

    Members
    -------
    unresolved : set of int
        Regions that were not updated yet.
    since : float or None
        When the step after it began, in seconds: from then on it was missing.
    weights : list of int or None
        Checksum of each region's anchor behind this update; ``None``: nobody asks for them.
    norm : Tensor or None
        Norm of all gradients as guesses have them; ``None`` before it is asked for.
    began : float
        When its exchanges had begun, in seconds.
    waited : float
        Seconds that were waited for them so far.
    seen : float
        When something of it was seen to be there last, in seconds.
    there : float or None
        When all of it had been applied, in seconds; ``None``: something is missing.
    """

    step: Step
    replay: Replay
    gradients: Mapping[nn.Parameter, torch.Tensor]
    gains: list[int]
    departed: list[Departed]
    apart: Mapping[nn.Parameter, torch.Tensor]
    passes_redone: int
    unresolved: set[int] = field(init=False)
    since: float | None = None
    weights: list[int] | None = None
    norm: torch.Tensor | None = None
    began: float = field(default_factory=time.perf_counter)
    waited: float = 0.0
    seen: float = 0.0
    there: float | None = None

    def __post_init__(self) -> None:
        self.unresolved = {region for own in self.departed for region in own.regions}
