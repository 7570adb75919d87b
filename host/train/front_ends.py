"""Front-ends of the reducer's stages as a run uses them: behind DDP's hook, or speculative."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from adagrain.host.compression.exchange import CompressedExchange
from adagrain.host.distributed.adagrain_state import AdagrainState
from adagrain.host.distributed.ddp import register
from adagrain.host.distributed.step_log import StepLog
from adagrain.host.distributed.timing import Timing
from adagrain.host.speculation.counts import Counts
from adagrain.host.speculation.speculate import Speculation, speculate
from adagrain.host.telemetry.events import Sink
from adagrain.models.interface.units.region_manager import CadencePolicy, SpeculationPolicy

from .options import TrainingOptions

__all__ = ["Compute", "FrontEnd", "Hooked", "Speculative", "front_end"]

#: Computes a loss with a model: the network, or what has taken it in.
Compute = Callable[[nn.Module], torch.Tensor]

#: What the two give: counters, cadences, device, exchange, state, under the same names.
Run = AdagrainState | Speculation


class FrontEnd(ABC):
    """Takes the steps of a run, on this worker.

    Parameters
    ----------
    run : AdagrainState or Speculation
        What the steps are taken with.

    Members
    -------
    frames : CompressedExchange or None
        What sends gradients, if they go compressed.
    guesses : Counts
        What has become of this worker's guesses; none, where there are none to be.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.guesses = run.counts if isinstance(run, Speculation) else Counts()
        exchange = run.exchange
        self.frames = exchange if isinstance(exchange, CompressedExchange) else None

    @abstractmethod
    def advance(self, compute: Compute) -> StepLog | None:
        """Take a step; the last one that was decided on, if there is one by now."""

    @abstractmethod
    def settle(self) -> None:
        """Wait for the update in flight, if there is one."""

    @abstractmethod
    def finish(self) -> None:
        """Behind the last step, on all workers: sinks are told of all steps."""


class Hooked(FrontEnd):
    """Each step ends with its update; the exchange is in DDP's communication hook.

    Parameters
    ----------
    network : nn.Module
        What is trained.
    optimizer : torch.optim.Optimizer
        Its optimizer.
    options : mapping
        Those of :func:`adagrain.register`.
    """

    def __init__(
        self, network: nn.Module, optimizer: torch.optim.Optimizer, options: Mapping[str, Any]
    ) -> None:
        self._model = DistributedDataParallel(network)
        self._optimizer = optimizer
        self._state = register(self._model, optimizer, **options)
        super().__init__(self._state)

    def advance(self, compute: Compute) -> StepLog:
        """As :meth:`FrontEnd.advance`: the step itself."""
        self._optimizer.zero_grad()
        compute(self._model).backward()
        self._optimizer.step()
        return self._state.last_step

    def settle(self) -> None:
        """Nothing: no update is in flight."""

    def finish(self) -> None:
        """Nothing: they have been."""


class Speculative(FrontEnd):
    """A step's update is in flight while the next one begins with guessed weights.

    Parameters
    ----------
    network, optimizer
        As those of :class:`Hooked`.
    options : mapping
        Those of :func:`adagrain.speculate`.
    """

    def __init__(
        self, network: nn.Module, optimizer: torch.optim.Optimizer, options: Mapping[str, Any]
    ) -> None:
        self._network = network
        self._speculation = speculate(network, optimizer, **options)
        super().__init__(self._speculation)

    def advance(self, compute: Compute) -> StepLog | None:
        """As :meth:`FrontEnd.advance`: mostly the step before, whose update has arrived in it."""
        self._speculation.step(lambda: compute(self._network))
        return self._speculation.last_step

    def settle(self) -> None:
        """As :meth:`FrontEnd.settle`."""
        self._speculation.settle()

    def finish(self) -> None:
        """As :meth:`FrontEnd.finish`."""
        self._speculation.finish()


def front_end(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    options: TrainingOptions,
    sink: Sink,
    **policy: Any,
) -> FrontEnd:
    """The front-end that a training preset stands for.

    Parameters
    ----------
    network : nn.Module
        What is trained.
    optimizer : torch.optim.Optimizer
        Its optimizer.
    options : TrainingOptions
        The run's.
    sink : Sink
        Who is told of steps.
    policy
        Options of :func:`adagrain.register`, or of :func:`adagrain.speculate`, in place of those
        that the training preset stands for.
    """
    chosen = {
        "device": options.device_of(dist.get_rank()),
        "preset": options.built_with,
        "by": options.by,
        "cadence": CadencePolicy.NOISE if options.decides_cadences else None,
        "cadence_max": options.longest_cadence,
        "cap": options.cap,
        "compression": options.compression,
        "epoch_steps": options.epoch_steps,
        "parameters": {"noise": options.noise_threshold},
        "timing": Timing.parse(options.timing),
        "sinks": [sink],
    }
    if options.speculation is None:
        return Hooked(network, optimizer, chosen | policy)
    states = {"policy": SpeculationPolicy[options.speculation_policy.upper()]}
    return Speculative(network, optimizer, chosen | vars(options.speculation) | states | policy)
