"""What cases of the compressed exchange have in common.

The judge is plain: it has the worker's own gradients from a second model without DDP, takes what
was sent to be what the residuals have lost, and averages that in rank order.
"""

import copy
import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from adagrain.host.compression.hook import CompressionState, compress_hook

CASES: dict[str, Callable[[], Any]] = {}


#: Parameters of these networks come in several buckets, which DDP rebuilds after the first pass.
SMALL_BUCKETS = 1e-3


def case(function: Callable[[], Any]) -> Callable[[], Any]:
    CASES[function.__name__] = function
    return function


def network() -> nn.Module:
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(12, 40), nn.Tanh(), nn.Linear(40, 12), nn.Linear(12, 4))


class Setup:
    """A network with the hook, and what training it takes."""

    def __init__(
        self, ddp: Any = None, make: Callable[[], nn.Module] = network, **options: Any
    ) -> None:
        ddp = {"bucket_cap_mb": SMALL_BUCKETS} | (ddp or {})
        self.model = DistributedDataParallel(make(), **ddp)
        self.network = self.model.module
        self.state = CompressionState(self.model, **({"bypass": "never"} | options))
        self.model.register_comm_hook(self.state, compress_hook)
        momentum = 0.0 if "momentum" in options else 0.9
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=momentum)

    def batch(self, step: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(1000 * step + dist.get_rank())
        return torch.randn(16, 12, generator=generator)

    def backward(self, step: int, scale: float = 1.0) -> None:
        self.optimizer.zero_grad()
        (scale * self.model(self.batch(step)).square().mean()).backward()

    def train(self, steps: range) -> None:
        for step in steps:
            self.backward(step)
            self.optimizer.step()

    def gradients(self) -> torch.Tensor:
        return torch.cat([p.grad.reshape(-1) for p in self.network.parameters()])

    def own_gradients(self, step: int, scale: float = 1.0) -> torch.Tensor:
        """Those of this worker alone."""
        twin = copy.deepcopy(self.network)
        twin.zero_grad()
        (scale * twin(self.batch(step)).square().mean()).backward()
        return torch.cat([p.grad.reshape(-1) for p in twin.parameters()])

    def residuals(self) -> torch.Tensor:
        saved = self.state.state_dict()["exchange"]["feedback"]["residuals"]
        parts = [
            saved.get((number, 0), torch.zeros(own.numel()))
            for number, own in enumerate(self.network.parameters())
        ]
        return torch.cat(parts)

    def judged(self, step: int, scale: float = 1.0) -> torch.Tensor:
        """A backward pass: what arrived of this worker, once all is found to be as it must be."""
        before, own = self.residuals(), self.own_gradients(step, scale)
        self.backward(step, scale)
        v, after = own + before, self.residuals()
        arrived = v - after
        assert torch.equal(arrived + after, v), "what arrived and what is left are all there was"
        assert torch.equal(arrived.bfloat16().float(), arrived)
        assert same_bits(self.gradients(), average_of(arrived))
        return arrived

    def judged_uncompressed(self, step: int) -> None:
        """A backward pass of two workers that sends all there is, as BF16."""
        v = self.own_gradients(step) + self.residuals()
        self.backward(step)
        first, second = gathered(to_bf16(v))
        assert same_bits(self.gradients(), to_bf16(first + second) * 0.5)
        assert torch.equal(self.residuals(), v - to_bf16(v))

    def go_on_from(self, other: "Setup") -> None:
        """Take over what another one has saved."""
        buffer = io.BytesIO()
        torch.save([part.state_dict() for part in other.parts()], buffer)
        buffer.seek(0)
        for part, state in zip(self.parts(), torch.load(buffer), strict=True):
            part.load_state_dict(state)

    def parts(self) -> tuple[Any, ...]:
        """What a checkpoint has."""
        return self.network, self.optimizer, self.state

    def sha256(self) -> str:
        raw = b"".join(p.detach().numpy().tobytes() for p in self.network.parameters())
        return hashlib.sha256(raw).hexdigest()


def gathered(own: torch.Tensor) -> list[torch.Tensor]:
    found = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(found, own)
    return found


def average_of(own: torch.Tensor) -> torch.Tensor:
    """In rank order, in FP32."""
    first, *others = (x.numpy() for x in gathered(own))
    for other in others:
        first = first + other
    return torch.from_numpy(first * np.float32(1 / dist.get_world_size()))


def to_bf16(x: torch.Tensor) -> torch.Tensor:
    """Rounded to the nearest, ties to even, by integers; zeros are +0."""
    bits = x.numpy().view(np.uint32).astype(np.uint64)
    words = (bits + 0x7FFF + (bits >> 16 & 1) >> 16 << 16).astype(np.uint32)
    words[words == 0x80000000] = 0
    return torch.from_numpy(words.view(np.float32))


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(a.view(torch.int32), b.view(torch.int32))


@contextmanager
def replaced(module: Any, name: str, other: Any) -> Iterator[None]:
    old = getattr(module, name)
    setattr(module, name, other)
    yield
    setattr(module, name, old)
