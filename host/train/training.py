"""A network in training on one worker: everything but files, terminal and process group."""

from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from adagrain.host.distributed.step_log import StepLog
from adagrain.host.granular import (
    Budget,
    Granularity,
    GranularLayer,
    ResourceManager,
    convert,
)
from adagrain.host.telemetry.events import PrecisionsEvent
from adagrain.host.telemetry.pairing import Pairing
from adagrain.host.telemetry.relay import Relay

from .data import Dataset
from .front_ends import front_end
from .networks import build
from .options import TrainingOptions
from .schedule import remaining, restore, schedule
from .shards import Shards

__all__ = ["Training"]

#: Test samples that are classified at once.
_TEST_BATCH = 1024


class Training:
    """One worker's part of a training; the process group must be there.

    Parameters
    ----------
    options : TrainingOptions
        What to do; the same on all workers.
    data : Dataset
        What to train on, likewise.
    place : str
        torch's name of where to train.
    policy
        Options of :class:`ReducerOptions`, or of :func:`speculate`, in place of those that the
        training preset stands for.

    Members
    -------
    granularity : Granularity or None
        Who chooses the layers' precisions, if they choose.
    handle : FrontEnd
        What takes steps.
    events : Relay
        Tells sinks that are added to it what happens.
    """

    def __init__(
        self, options: TrainingOptions, data: Dataset, place: str = "cpu", **policy: Any
    ) -> None:
        self.data = data
        self.events = Relay()
        self.network = build(data, options.seed, options.net).to(place)
        if options.granular:
            self.network = convert(self.network, options.policy)
        self._place, self._steps = place, options.steps
        sgd = torch.optim.SGD(_groups(self.network, options), lr=options.learning_rate)
        self._scheduler = schedule(sgd, steps=options.steps, warmup=options.warmup)
        self._paired = Pairing(self.events)
        self.handle = front_end(self.network, sgd, options, self._paired, **policy)
        self.granularity = self._granularity(options) if options.granular else None
        self._shards = Shards(
            len(data.inputs),
            batch=options.batch,
            workers=dist.get_world_size(),
            rank=dist.get_rank(),
            seed=options.seed,
        )

    def _granularity(self, options: TrainingOptions) -> Granularity:
        budget = Budget(bits=options.bits) if options.bits else None
        return Granularity(
            self.network,
            self.handle.run.device,
            offload=options.offload_every if options.offload == "forward" else 0,
            resources=ResourceManager(budget) if budget else None,
        )

    @property
    def step(self) -> int:
        """Steps taken so far."""
        return self.handle.run.steps

    @property
    def told(self) -> int:
        """Steps that sinks have been told of, which are fewer where several are in flight."""
        return self._paired.told

    @property
    def ends_epoch(self) -> bool:
        """True if the step before was the last with this permutation of the samples."""
        return self.step % self._shards.steps_per_epoch == 0

    def advance(self) -> StepLog | None:
        """Take one step; what the workers agreed on in it, or in the last one that has arrived."""
        batch = self._shards.next()
        inputs = self.data.inputs[batch].to(self._place)
        labels = self.data.labels[batch].to(self._place)
        log = self.handle.advance(lambda model: self._loss(model, inputs, labels))
        self._scheduler.step()
        if self.granularity:
            self._paired.precisions(PrecisionsEvent(self.step - 1, self.granularity.step()))
        return log

    def settle(self) -> None:
        """Wait for the update in flight, if there is one, so that sinks are told of its step."""
        self.handle.settle()

    def finish(self) -> None:
        """Behind the last step, on all workers: have sinks told of all steps, and flush them."""
        self.handle.finish()
        self.events.flush()

    def _loss(self, model: nn.Module, inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        found = model(inputs)
        loss = nn.functional.cross_entropy(found.flatten(0, -2), labels.flatten())
        loss = self.handle.run.loss(loss)
        if self.granularity:
            part = remaining(self.step, self._steps)
            loss = loss + part * self.granularity.penalty()
        return loss

    @torch.no_grad()
    def accuracy(self) -> float:
        """Part of the test samples that is classified right; of a text, of its characters."""
        self.settle()
        self.network.eval()
        right = 0
        for inputs, labels in zip(
            self.data.test_inputs.split(_TEST_BATCH),
            self.data.test_labels.split(_TEST_BATCH),
            strict=True,
        ):
            guesses = self.network(inputs.to(self._place)).argmax(dim=-1)
            right += int((guesses.cpu() == labels).sum())
        self.network.train()
        return right / self.data.test_labels.numel()

    def state_dict(self) -> dict[str, Any]:
        """All that this worker needs to go on: weights, momenta, reducer, device, data cursor."""
        return {
            "network": self.network.state_dict(),
            "handle": self.handle.run.state_dict(),
            "scheduler": self._scheduler.state_dict(),
            "shards": self._shards.state_dict(),
            "granularity": self.granularity.state_dict() if self.granularity else None,
            "events": self._paired.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""
        self.network.load_state_dict(state["network"])
        self.handle.run.load_state_dict(state["handle"])
        restore(self._scheduler, state["scheduler"])
        self._shards.load_state_dict(state["shards"])
        if self.granularity:
            self.granularity.load_state_dict(state["granularity"])
        self._paired.load_state_dict(state["events"])

    def close(self) -> None:
        """Let go of the device."""
        self.handle.run.close()


def _groups(network: nn.Module, options: TrainingOptions) -> list[dict[str, Any]]:
    """Parameters for the optimizer: the thresholds between precisions have a rate of their own."""
    thresholds = {
        layer.controllers.thresholds
        for layer in network.modules()
        if isinstance(layer, GranularLayer) and layer.policy.learns
    }
    weights = [p for p in network.parameters() if p.requires_grad and p not in thresholds]
    groups: list[dict[str, Any]] = [
        {
            "params": weights,
            "weight_decay": options.weight_decay,
            "momentum": 0.0 if options.momentum_correction else options.momentum,
        }
    ]
    if thresholds:
        ordered = [p for p in network.parameters() if p in thresholds]
        steady = {"lr": options.threshold_rate, "momentum": options.momentum, "steady": True}
        groups.append({"params": ordered, **steady})
    return groups
