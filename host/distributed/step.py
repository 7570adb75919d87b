"""The context of a step in flight, and of the backward pass under way in it."""

import time
from dataclasses import dataclass, field

import torch

from adagrain.models.statistics import Energy

from .agreement import Agreed, Agreeing, LocalEnergy, Trials
from .bundle import Bundle
from .clock import Moment
from .exchange import Pending
from .flown import Flown

__all__ = ["Pass", "Step"]


@dataclass
class Pass:
    """A backward pass.

    Members
    -------
    gathered : int
        Slices whose gradients were added.
    bundles : list of Bundle
        Gradients that are exchanged where they lie.
    alone : list of Tensor
        Gradients of parameters in no region that wait for the next exchange to begin.
    pending : list of Pending
        Exchanges that have begun.
    failure : Exception or None
        Why this worker cannot end the pass.
    place : int
        Which of the accumulators' averages are its own.
    """

    gathered: int = 0
    bundles: list[Bundle] = field(default_factory=list)
    alone: list[torch.Tensor] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    failure: Exception | None = None
    place: int = 0

    def fail(self, error: Exception) -> None:
        """Keep why it cannot be ended; the first reason counts."""
        self.failure = self.failure or error


@dataclass
class Step:
    """A step, from the end of the one before to its decisions.

    Another one may be contributed meanwhile: what a decision needs of the clock, the exponents and
    the averages is kept here.

    Parameters
    ----------
    number : int
        Steps that were taken before it.

    Members
    -------
    began : float
        When the step before ended, in seconds.
    losses : list of float
        Of the backward passes so far, as they were reported.
    passes : int
        Backward passes that have ended.
    stall : float
        Seconds that were waited for exchanges, and have not been told of in an earlier step.
    told : float
        Those of them that the last agreement has told of: it begins before the wait.
    redo : float or None
        Seconds that it would take to compute the step again; ``None``: all since it began.
    guesses : dict of int to Trials
        What became of guesses in it, by region.
    moment : Moment or None
        What the clock shows, since the agreement has begun.
    exponents : list of int or None
        Of each region: at which this step's gradients and averages are looked at; likewise.
    local : dict of int to LocalEnergy
        What this worker has contributed to the agreement, of the last pass.
    averages : dict of int to Energy
        Of the averages of regions that are updated, once they are there.
    dropping : dict of int to int
        Regions whose update is dropped → elements that were not finite, in the pass that had most.
    due : dict of int to int
        Regions that will be updated → steps that they have accumulated; of the last pass.
    agreeing : Agreeing or None
        The agreement under way, of the last pass.
    agreed : Agreed or None
        Sums over the workers, of the last pass.
    current : Pass
        The backward pass under way, or the last one.
    flown : Flown or None
        Times of its update in flight; ``None`` before it has arrived, and where none flies.
    """

    number: int
    began: float = field(default_factory=time.perf_counter)
    losses: list[float] = field(default_factory=list)
    passes: int = 0
    stall: float = 0.0
    told: float = 0.0
    redo: float | None = None
    guesses: dict[int, Trials] = field(default_factory=dict)
    moment: Moment | None = None
    exponents: list[int | None] = field(default_factory=list)
    local: dict[int, LocalEnergy] = field(default_factory=dict)
    averages: dict[int, Energy] = field(default_factory=dict)
    dropping: dict[int, int] = field(default_factory=dict)
    due: dict[int, int] = field(default_factory=dict)
    agreeing: Agreeing | None = None
    agreed: Agreed | None = None
    current: Pass = field(default_factory=Pass)
    flown: Flown | None = None
