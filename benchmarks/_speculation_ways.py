"""Ways to train the padded network, which the benchmark of speculation holds against each other."""

from collections.abc import Callable
from typing import Any, Protocol

import torch
import torch.distributed as dist
from _local_steps import DiLoCo, PostLocalSGD
from _padded import Padded, convolutions
from _stages import Stages
from _text import Transformer
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import adagrain
from adagrain.host.train.data import Dataset, load
from adagrain.models.interface.units.region_manager import SpeculationPolicy

__all__ = ["CHOSEN", "DDP", "NETS", "SPECULATION", "WAYS", "Way", "made"]

BATCH, RATE, MOMENTUM = 32, 0.05, 0.9

#: What is trained, and on what data.
NETS = {"convolutions": "digits", "transformer": "text"}

#: Width of a transformer of a million parameters.
_WIDTH = 144

#: Plain DDP by name: caps of its buckets in MB; ``None``: its default.
DDP: dict[str, float | None] = {
    "ddp": None,
    "ddp 1": 1.0,
    "ddp 0.25": 0.25,
    "ddp 0.08": 0.08,
}

#: Large layers go in every second or fourth step, at the rate that they have in every step.
_CADENCES: dict[str, Any] = {"cadence_max": 4, "cap": RATE}

#: A tenth of all elements goes, whatever is faster.
_COMPRESSED: dict[str, Any] = {"compression": {"density": 0.1, "bypass": "never"}}

_NEVER = {"policy": SpeculationPolicy.NEVER}

#: Options of speculation by name, in place of those that are given.
SPECULATION: dict[str, dict[str, Any]] = {
    "depth 0": {"depth": 0, "policy": SpeculationPolicy.NEVER},
    "never": {"policy": SpeculationPolicy.NEVER},
    "nothing accepted": {"tau": 0.0},
    "nothing accepted, always": {"tau": 0.0, "policy": SpeculationPolicy.ALWAYS},
    "adaptive": {},
    "seed_literal": {"policy": SpeculationPolicy.SEED_LITERAL},
    "always": {"policy": SpeculationPolicy.ALWAYS},
    "adaptive, depth 2": {"depth": 2},
    "never, cadences": {**_NEVER, **_CADENCES},
    "adaptive, cadences": _CADENCES,
    "adaptive, cadences, depth 2": {**_CADENCES, "depth": 2},
    "never, compressed": {**_NEVER, **_COMPRESSED},
    "adaptive, compressed": _COMPRESSED,
    "adaptive, compressed, depth 2": {**_COMPRESSED, "depth": 2},
    "never, cadences, compressed": {**_NEVER, **_CADENCES, **_COMPRESSED},
    "adaptive, cadences, compressed": {**_CADENCES, **_COMPRESSED},
    "adaptive, cadences, compressed, depth 2": {**_CADENCES, **_COMPRESSED, "depth": 2},
}

#: Rates and momenta of DiLoCo's outer optimizer that were tried; the first are its paper's.
OUTER = ((0.7, 0.9), (0.1, 0.9), (0.3, 0.7), (0.5, 0.5), (0.7, 0.5), (0.9, 0.3))

#: The best of them by period, on this network.
_BEST = {4: (0.5, 0.5), 16: (0.3, 0.7), 64: (0.3, 0.7)}

#: Schemes of local steps by name: what makes them, and their options.
LOCAL: dict[str, tuple[type[PostLocalSGD | DiLoCo], tuple[float, ...]]] = {
    **{f"PostLocalSGD {period}": (PostLocalSGD, (period,)) for period in _BEST},
    **{f"DiLoCo {period}": (DiLoCo, (period, *best)) for period, best in _BEST.items()},
    **{
        f"DiLoCo {period} at {rate:g} {momentum:g}": (DiLoCo, (period, rate, momentum))
        for period in _BEST
        for rate, momentum in OUTER
    },
}

#: All ways by name; those of other rates are to be asked for.
WAYS = (*DDP, *SPECULATION, *LOCAL)
CHOSEN = tuple(way for way in WAYS if " at " not in way)


class Way(Protocol):
    """A way to train.

    Members
    -------
    network : nn.Module
        What is trained.
    period : int
        Steps after which exchanges repeat.
    alike : bool
        All workers have the same network, once it is settled.
    """

    network: nn.Module
    period: int
    alike: bool

    def step(self) -> None:
        """Take a step."""

    def settle(self) -> None:
        """Wait for what is in flight."""

    def facts(self) -> dict[str, Any]:
        """What is to be told of it so far."""


def made(name: str, net: str, passes: tuple[float, float], tau: float, seed: int = 0) -> Way:
    """A way by its name; all begin with the same weights, and each worker has batches of its own.

    Parameters
    ----------
    name : str
        One of :data:`WAYS`.
    net : str
        One of :data:`NETS`.
    passes : tuple of float
        Milliseconds that forward and backward pass of convolutions are padded to.
    tau : float
        That of speculation.
    seed : int
        Of weights and batches.

    Raises
    ------
    KeyError
        If there is none of that name.
    """
    torch.manual_seed(seed)
    padded = net == "convolutions"
    network = Padded(convolutions(), *passes) if padded else Transformer(_WIDTH)
    batches = _Batches(load(NETS[net]), 1000 * seed + dist.get_rank())
    if name in SPECULATION:
        options = {"tau": tau, **SPECULATION[name]}
        if "cadence_max" in options:
            options["cadences"] = _cadences(network)
        return _Speculative(network, batches, options)
    if name in LOCAL:
        kind, how = LOCAL[name]
        return _Local(network, batches, kind(network, _optimizer_of(network), *how))
    return _Plain(network, batches, DDP[name])


def _cadences(network: nn.Module) -> dict[str, int]:
    """2 for layers with more parameters than the mean of all, 4 from four times the mean on."""
    sizes = {
        name: size
        for name, layer in network.named_modules()
        if (size := sum(own.numel() for own in layer.parameters(recurse=False)))
    }
    mean = sum(sizes.values()) / len(sizes)
    return {name: 4 if size >= 4 * mean else 2 for name, size in sizes.items() if size > mean}


class _Batches:
    """Random batches of a data set, as a worker gets them."""

    def __init__(self, data: Dataset, seed: int) -> None:
        self._data = data
        self._generator = torch.Generator().manual_seed(seed)

    def draw(self, model: nn.Module) -> Callable[[], torch.Tensor]:
        """A closure that computes the loss of the next one."""
        chosen = torch.randint(len(self._data.inputs), (BATCH,), generator=self._generator)
        x, y = self._data.inputs[chosen], self._data.labels[chosen]
        return lambda: nn.functional.cross_entropy(model(x), y)


class _Plain:
    period, alike = 1, True

    def __init__(self, network: nn.Module, batches: _Batches, cap: float | None) -> None:
        options: dict[str, Any] = {} if cap is None else {"bucket_cap_mb": cap}
        self.network = network
        self._model = DistributedDataParallel(network, **options)
        self._optimizer = _optimizer_of(network)
        self._batches = batches

    def step(self) -> None:
        self._optimizer.zero_grad()
        self._batches.draw(self._model)().backward()
        self._optimizer.step()

    def settle(self) -> None:
        pass

    def facts(self) -> dict[str, Any]:
        return {}


class _Local:
    alike = False

    def __init__(
        self, network: nn.Module, batches: _Batches, scheme: PostLocalSGD | DiLoCo
    ) -> None:
        self.network, self.period = network, scheme.period
        self._batches, self._scheme = batches, scheme

    def step(self) -> None:
        self._scheme.step(self._batches.draw(self._scheme.model))

    def settle(self) -> None:
        pass

    def facts(self) -> dict[str, Any]:
        return {}


class _Speculative:
    alike = True

    def __init__(self, network: nn.Module, batches: _Batches, options: dict[str, Any]) -> None:
        self.network, self._batches = network, batches
        self.period = options.get("cadence_max", 1)
        self._speculation = adagrain.speculate(network, _optimizer_of(network), **options)
        self._stages = Stages()
        self._stages.watch_device(self._speculation.device)

    def step(self) -> None:
        self._speculation.step(self._batches.draw(self.network))
        self._stages.end_step()

    def settle(self) -> None:
        self._speculation.settle()

    def facts(self) -> dict[str, Any]:
        own = self._speculation
        counts = own.counts
        return {
            "steps": counts.steps,
            "guessed": counts.guessed,
            "redone": own.passes_redone,
            "trials": counts.trials.total(),
            "accepts": counts.accepts.total(),
            "gains": own.gains,
            "buckets": own.buckets,
            "device_ms": self._stages.last_ms(),
        }


def _optimizer_of(network: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(network.parameters(), lr=RATE, momentum=MOMENTUM)
