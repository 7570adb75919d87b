"""What tests of speculation watch a run with: its collectives, its anchors, what is given away."""

import hashlib
import threading
from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist

from adagrain.host.compression.exchange import CompressedExchange

__all__ = ["Balance", "Collectives", "digest", "forget_guesses", "projected"]


class Collectives:
    """All collectives, as they begin; none that a step takes may do so while a guess has entered.

    What frames are agreed on by is begun in a thread, and is not the step's.
    """

    def __init__(self) -> None:
        self.missing = 0
        self.speculation: Any = None
        self.forget()
        self._real = dist.all_reduce, dist.all_gather
        dist.all_reduce, dist.all_gather = self._all_reduce, self._all_gather

    def forget(self) -> None:
        self.begun: dict[bool, list[tuple[int, str]]] = {True: [], False: []}

    def _all_reduce(self, tensor: torch.Tensor, *arguments: Any, **options: Any) -> Any:
        self._note(tensor)
        return self._real[0](tensor, *arguments, **options)

    def _all_gather(self, all_of_it: Any, own: torch.Tensor, **options: Any) -> Any:
        self._note(own)
        return self._real[1](all_of_it, own, **options)

    def _note(self, tensor: torch.Tensor) -> None:
        in_step = threading.current_thread() is threading.main_thread()
        if in_step and self.speculation is not None:
            assert self.speculation._runtime._tags.mask == 0
            if tensor.dtype != torch.int64:  # gradients, or a frame of them
                self._check_missing(self.speculation._runtime)
        self.begun[in_step].append((tensor.numel(), str(tensor.dtype)))

    def _check_missing(self, runtime: Any) -> None:
        """No update is missing in a commit but the newest ones, one less than may be in flight."""
        missing = [flight.step.number for flight in runtime._arrivals.flights]
        least = runtime._stages.clock.step - runtime._places + 1
        assert all(number >= least for number in missing)
        self.missing = max(self.missing, len(missing))


class Balance:
    """What was given to a compressed exchange, and what has come of it: nothing may be lost.

    Each is a projection on a random vector; what is not finite is not given.
    """

    def __init__(self) -> None:
        self.given = self.averaged = 0.0

    def watch(self, exchange: Any) -> None:
        real = exchange.begin

        def begin(shares: Any, *flat: Any) -> Any:
            for share in shares:
                if share.region is not None and share.mean.isfinite().all():
                    self.given += projected(share.mean, share.region, share.start)
            return real(shares, *flat)

        exchange.begin = begin

    def found(self, exchange: CompressedExchange) -> list[float]:
        """What was given, its averages that were used, and what is left."""
        kept = exchange.state_dict()["feedback"]["residuals"]
        left = sum(projected(own, *key) for key, own in kept.items())
        return [self.given, self.averaged, left]


def projected(values: torch.Tensor, region: int, start: int = 0) -> float:
    generator = torch.Generator().manual_seed(region)
    along = torch.randn(1 << 10, generator=generator, dtype=torch.float64)
    return float(values.reshape(-1).double() @ along[start : start + values.numel()])


def digest(tensors: Iterable[torch.Tensor]) -> str:
    raw = b"".join(tensor.detach().numpy().tobytes() for tensor in tensors)
    return hashlib.sha256(raw).hexdigest()


def forget_guesses(speculation: Any) -> None:
    """Have each guess consist of what must never be used."""
    arrivals = speculation._runtime._arrivals
    real = arrivals.guess

    def guess(region: int) -> Any:
        chain = real(region)
        for leaf in chain.leaves.values():
            leaf.data.fill_(torch.nan)
        return chain

    arrivals.guess = guess
