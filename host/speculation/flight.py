"""The context of a step whose update is in flight."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import nn

from adagrain.host.distributed.exchange import Pending
from adagrain.host.distributed.step import Step

from .buckets import Bucket
from .replay import Replay

__all__ = ["Departed", "Flight"]


class Departed(NamedTuple):
    """A bucket whose exchange is under way."""

    bucket: Bucket
    pending: Pending


@dataclass
class Flight:
    """A step from its first contribution to a collective until its last region is updated.

    Parameters
    ----------
    step : Step
        The same step, as the stages know it.
    replay : Replay
        The optimizers, with the options that the step has seen.
    gradients : mapping
        This worker's own, by parameter; for guesses.
    gains : list of int
        Sixteenths of them that enter guesses, by region; 0: it is not guessed.
    departed : list of Departed
        Buckets that were not applied yet.
    passes_redone : int
        Passes that were done again before it.

    Members
    -------
    unresolved : set of int
        Regions that were not updated yet.
    guessed : set of int
        Regions whose guess has been computed.
    norm : Tensor or None
        Norm of all gradients as guesses have them; ``None`` before it is asked for.
    began : float
        When its exchanges had begun, in seconds.
    waited : float
        Seconds that were waited for them so far.
    """

    step: Step
    replay: Replay
    gradients: Mapping[nn.Parameter, torch.Tensor]
    gains: list[int]
    departed: list[Departed]
    passes_redone: int
    unresolved: set[int] = field(init=False)
    guessed: set[int] = field(default_factory=set)
    norm: torch.Tensor | None = None
    began: float = field(default_factory=time.perf_counter)
    waited: float = 0.0

    def __post_init__(self) -> None:
        self.unresolved = {region for own in self.departed for region in own.bucket.regions}
