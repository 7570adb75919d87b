"""Front-ends of the reducer's stages as a run uses them: behind DDP's hook, or speculative."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from adagrain.host.compression.exchange import CompressedExchange
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.distributed.ddp import register
from adagrain.host.distributed.step_log import StepLog
from adagrain.host.distributed.timing import Timing
from adagrain.host.speculation.speculate import speculate
from adagrain.host.telemetry.events import Sink
from adagrain.models.interface.units.region_manager import CadencePolicy, SpeculationPolicy

from .options import TrainingOptions

__all__ = ["Compute", "FrontEnd", "Hooked", "Speculative"]

#: Computes a loss with a model: the network, or what has taken it in.
Compute = Callable[[nn.Module], torch.Tensor]


class FrontEnd(Protocol):
    """Takes the steps of a run, on this worker.

    Members
    -------
    device : Coprocessor
        This worker's device.
    frames : CompressedExchange or None
        What sends gradients, if they go compressed.
    """

    device: Coprocessor
    frames: CompressedExchange | None

    @property
    def steps(self) -> int:
        """Steps taken so far."""

    @property
    def cadences(self) -> dict[str, int]:
        """Steps per update, by region, for the next step."""

    @property
    def bytes_sent(self) -> int:
        """Bytes of gradients that this worker has put into collectives."""

    @property
    def bytes_dense(self) -> int:
        """Bytes of all gradients that were added: what a dense exchange would have sent."""

    @property
    def dropped(self) -> int:
        """Updates that were dropped, because a gradient was not finite."""

    def report(self, loss: torch.Tensor) -> torch.Tensor:
        """Say what the loss is that people look at; returned as it is."""

    def advance(self, compute: Compute) -> StepLog | None:
        """Take a step; the last one that was decided on, if there is one by now."""

    def settle(self) -> None:
        """Wait for the update in flight, if there is one."""

    def state_dict(self) -> dict[str, Any]:
        """State of this worker, its device, and the optimizer."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave, after the network's own was."""

    def close(self) -> None:
        """Let go of the device."""


class Hooked:
    """Each step ends with its update; the exchange is in DDP's communication hook.

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
        Options of :class:`ReducerOptions` in place of those that the training preset stands for.
    """

    def __init__(
        self,
        network: nn.Module,
        optimizer: torch.optim.Optimizer,
        options: TrainingOptions,
        sink: Sink,
        **policy: Any,
    ) -> None:
        self._model = DistributedDataParallel(network)
        cadences = {
            "cadence": CadencePolicy.NOISE if options.decides_cadences else None,
            "cadence_max": options.longest_cadence,
        }
        self._state = register(
            self._model,
            optimizer,
            cap=options.cap,
            compression=options.compression,
            **(_common(options, sink) | cadences | policy),
        )
        self.device = self._state.device
        self.optimizer = optimizer
        self.reducer = self._state.reducer
        exchange = self._state.exchange
        self.frames = exchange if isinstance(exchange, CompressedExchange) else None

    @property
    def steps(self) -> int:
        """As :attr:`FrontEnd.steps`."""
        return self.reducer.step

    @property
    def cadences(self) -> dict[str, int]:
        """As :attr:`FrontEnd.cadences`."""
        return self.reducer.cadences

    @property
    def bytes_sent(self) -> int:
        """As :attr:`FrontEnd.bytes_sent`."""
        return self.reducer.bytes_sent

    @property
    def bytes_dense(self) -> int:
        """As :attr:`FrontEnd.bytes_dense`."""
        return self.reducer.bytes_dense

    @property
    def dropped(self) -> int:
        """As :attr:`FrontEnd.dropped`."""
        return self.reducer.dropped

    def report(self, loss: torch.Tensor) -> torch.Tensor:
        """As :meth:`FrontEnd.report`."""
        return self._state.loss(loss)

    def advance(self, compute: Compute) -> StepLog:
        """As :meth:`FrontEnd.advance`: the step itself."""
        self.optimizer.zero_grad()
        compute(self._model).backward()
        self.optimizer.step()
        return self._state.last_step

    def settle(self) -> None:
        """Nothing: no update is in flight."""

    def state_dict(self) -> dict[str, Any]:
        """As :meth:`FrontEnd.state_dict`."""
        return self._state.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As :meth:`FrontEnd.load_state_dict`."""
        self._state.load_state_dict(state)

    def close(self) -> None:
        """As :meth:`FrontEnd.close`."""
        self._state.close()


class Speculative:
    """A step's update is in flight while the next one begins with guessed weights.

    Parameters
    ----------
    network, optimizer, options, sink, policy
        As those of :class:`Hooked`.
    """

    frames: CompressedExchange | None = None

    def __init__(
        self,
        network: nn.Module,
        optimizer: torch.optim.Optimizer,
        options: TrainingOptions,
        sink: Sink,
        **policy: Any,
    ) -> None:
        assert options.speculation is not None
        self._network = network
        states = SpeculationPolicy[options.speculation_policy.upper()]
        self._speculation = speculate(
            network,
            optimizer,
            **(_common(options, sink) | vars(options.speculation) | {"policy": states} | policy),
        )
        self.device = self._speculation.device

    @property
    def steps(self) -> int:
        """As :attr:`FrontEnd.steps`."""
        return self._speculation.steps

    @property
    def cadences(self) -> dict[str, int]:
        """As :attr:`FrontEnd.cadences`."""
        return self._speculation.cadences

    @property
    def bytes_sent(self) -> int:
        """As :attr:`FrontEnd.bytes_sent`."""
        return self._speculation.bytes_sent

    @property
    def bytes_dense(self) -> int:
        """As :attr:`FrontEnd.bytes_dense`."""
        return self._speculation.bytes_dense

    @property
    def dropped(self) -> int:
        """As :attr:`FrontEnd.dropped`."""
        return self._speculation.dropped

    def report(self, loss: torch.Tensor) -> torch.Tensor:
        """The loss as it is: the closure's is reported by the runtime."""
        return loss

    def advance(self, compute: Compute) -> StepLog | None:
        """As :meth:`FrontEnd.advance`: mostly the step before, whose update has arrived in it."""
        self._speculation.step(lambda: compute(self._network))
        return self._speculation.last_step

    def settle(self) -> None:
        """As :meth:`FrontEnd.settle`."""
        self._speculation.settle()

    def state_dict(self) -> dict[str, Any]:
        """As :meth:`FrontEnd.state_dict`."""
        return self._speculation.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As :meth:`FrontEnd.load_state_dict`."""
        self._speculation.load_state_dict(state)

    def close(self) -> None:
        """As :meth:`FrontEnd.close`."""
        self._speculation.close()


def _common(options: TrainingOptions, sink: Sink) -> dict[str, Any]:
    """Options that both have by the same names."""
    return {
        "device": options.device_of(dist.get_rank()),
        "preset": options.device_preset,
        "by": options.by,
        "epoch_steps": options.epoch_steps,
        "parameters": {"noise": options.noise_threshold},
        "timing": Timing.parse(options.timing),
        "sinks": [sink],
    }
