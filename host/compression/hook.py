"""Three lines for anyone's script: compressed gradients behind DDP's communication hook."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast
from weakref import proxy

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from adagrain.host.distributed.bucket_passes import BucketPasses
from adagrain.host.distributed.check_model import check_model
from adagrain.host.distributed.ddp_hooks import behind_ddp, gradients_of
from adagrain.host.distributed.exchange import Flat, Pending, Share
from adagrain.host.distributed.lockstep import Lockstep
from adagrain.host.distributed.state import check_parts, check_rank
from adagrain.host.distributed.uncopied import Uncopied
from adagrain.host.regions.regions import trainable

from .bypass import Decision
from .counts import Counts
from .exchange import CompressedExchange
from .learned.watching import watch
from .once import Once
from .options import CompressionOptions
from .own_steps import OwnSteps
from .thrown_away import ThrownAway

__all__ = ["CompressionState", "compress_hook"]

#: Types of gradients that can be compressed.
_TYPES = (torch.float32, torch.bfloat16, torch.float16)


class CompressionState(Uncopied):
    """State of :func:`compress_hook`, a communication hook for DistributedDataParallel.

    ::

        state = CompressionState(ddp_model, density=0.01)
        ddp_model.register_comm_hook(state, compress_hook)

    All buckets of a backward pass go as one frame, when the last of them is ready: one threshold
    for all of them saves more than it costs to wait. Uncompressed, each goes when it is ready; of
    three workers or more, groups of parameters do.

    All workers make it at the same time. Optimizers, schedulers and clipping stay as they are, but
    that a step with momentum of its own beside ``momentum`` is refused, and one before any gradient
    has gone through the hook. Passes whose gradients are thrown away must be inside ``no_sync``, or
    the first worker warns. After a backward pass all workers have the same gradients, bit for bit:
    the average of what they have sent.

    Parameters
    ----------
    model : DistributedDataParallel
        The wrapped model; it must not have a communication hook yet.
    options
        Those of :class:`~.options.CompressionOptions`.

    Members
    -------
    exchange : CompressedExchange
        Masks, residuals, slots.

    Raises
    ------
    TypeError
        If the model is not one that can be compressed so, or there is no such option; what it is,
        is named.
    ValueError
        If an option is out of its range, or not the same on all workers; on all of them.
    WorkerFailedError
        If another worker cannot begin.
    """

    exchange: CompressedExchange

    def __init__(self, model: DistributedDataParallel, **options: Any) -> None:
        check_model(model)
        parameters = trainable(model)
        self._model = cast(DistributedDataParallel, proxy(model))  # which has this in its hook
        self._own_steps: OwnSteps | None = None
        self._once: Once | None = None
        self._thrown_away: ThrownAway | None = None
        self._layouts = {
            name: {"shape": tuple(own.shape), "strides": own.stride()}
            for name, own in parameters.items()
        }
        self._numbers = {id(own): number for number, own in enumerate(parameters.values())}
        self._passes = BucketPasses(self._model, parameters.values())
        self._waiting: list[tuple[torch.futures.Future[torch.Tensor], torch.Tensor]] = []
        self._given: list[tuple[torch.Tensor, torch.Tensor]] = []
        lockstep = self._lockstep = Lockstep(model.process_group)
        self._closes: list[Any] = [lockstep]
        self._is_new = True
        common: dict[str, Any] = {}
        error: Exception | None = None
        try:
            common = self._make(model, parameters, options)
        except Exception as failure:
            error = failure
        try:
            lockstep.begin(common, error)
        except BaseException:
            self.close()
            raise

    def _make(
        self,
        model: DistributedDataParallel,
        parameters: Mapping[str, nn.Parameter],
        options: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Make the exchange and what looks on; give what all workers must have in common."""
        chosen = CompressionOptions.of(options)
        _check_types(parameters)
        sizes = {name: parameter.numel() for name, parameter in parameters.items()}
        self.exchange = CompressedExchange(
            model.process_group,
            self._lockstep,
            chosen,
            [[size] for size in sizes.values()],
            whole_passes=True,
            idle_waits=model.find_unused_parameters,
        )
        self._closes.append(self.exchange)
        watch(self.exchange.mask, model, parameters.values())
        self._own_steps = OwnSteps(parameters.values(), chosen.momentum)
        self._closes.append(self._own_steps)
        if chosen.once:
            self._once = Once(parameters.values())
            self._closes.append(self._once)
        if chosen.leaves:
            quiet = self.exchange.rank > 0
            self._thrown_away = ThrownAway(parameters.values(), quiet=quiet)
            self._closes.append(self._thrown_away)
        return chosen.common() | {f"elements of {n!r}": size for n, size in sizes.items()}

    @property
    def bytes_sent(self) -> int:
        """Bytes that this worker has put into collectives of backward passes.

        Slots, agreements, probes; not what workers compare when they begin or have loaded a state.
        """
        return self.exchange.bytes_sent

    @property
    def counts(self) -> Counts:
        """Counts of what did not go as it should."""
        return self.exchange.counts

    @property
    def decisions(self) -> list[Decision]:
        """Decisions on the bypass, the same on all workers."""
        return self.exchange.bypass.decisions

    def state_dict(self) -> dict[str, Any]:
        """State of this worker; each saves its own, after a step.

        Raises
        ------
        RuntimeError
            If a pass has failed; as :meth:`.exchange.CompressedExchange.state_dict`.
        """
        return {
            "parameters": self._layouts,
            "workers": self.exchange.workers,
            "rank": self.exchange.rank,
            "bytes_sent": self.bytes_sent,
            "exchange": self.exchange.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave; the run goes on as if it had not ended.

        All workers load at the same time.

        Raises
        ------
        ValueError
            If it is of other parameters, or of these in another memory format, of another worker,
            another number of them, or another mask. In the next pass, if workers have loaded
            states that do not go together; on all of them.
        """
        check_parts(state, "parameters", "workers", "rank", "bytes_sent", "exchange")
        _check_layouts(state["parameters"], self._layouts)
        if state["workers"] != self.exchange.workers:
            raise ValueError(
                f"workers of the state must be {self.exchange.workers}, not {state['workers']}"
            )
        check_rank(state["rank"], self.exchange.rank)
        self.exchange.load_state_dict(state["exchange"])
        self.exchange.bytes_sent = state["bytes_sent"]
        self._is_new = True

    def close(self) -> None:
        """Give the process group back; the model cannot be trained on with this hook."""
        while self._closes:
            self._closes.pop().close()

    def take(self, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        """Take a bucket; after the last one, end the pass and answer for all of them."""
        if not self._closes:
            raise RuntimeError("the model must not be trained on after close() of its state")
        if self._model._join_config.enable:
            raise NotImplementedError(
                "DistributedDataParallel.join does not work with compress_hook: residuals of a "
                "worker without data would be lost; give all workers as many batches"
            )
        if self._own_steps is not None:
            self._own_steps.taken()
        if self._is_new:
            self._is_new = False
            self._lockstep.begin(self.exchange.common(), None)
        if self._once is not None and self._once.again(map(self._number, bucket.parameters())):
            raise RuntimeError(self.exchange.once)
        means = bucket.buffer()
        if means.is_sparse:
            raise TypeError("gradients must be dense, but one of an embedding is sparse")
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        shares = self._shares(bucket.parameters(), means)
        pending = self.exchange.begin(shares, Flat(means, means))
        self._waiting.append((future, means))
        if self._model.find_unused_parameters or self._model.static_graph:
            self._given += zip(bucket.parameters(), gradients_of(bucket), strict=True)
        if self._passes.place(bucket).is_last:
            self._end_pass(pending)
        return future

    def _shares(self, parameters: Sequence[torch.Tensor], flat: torch.Tensor) -> list[Share]:
        parts = flat.split([parameter.numel() for parameter in parameters])
        return [
            Share(self._number(parameter), part, part)
            for parameter, part in zip(parameters, parts, strict=True)
            if part.numel()
        ]

    def _number(self, parameter: torch.Tensor) -> int:
        number = self._numbers.get(id(parameter))
        if number is None:
            raise ValueError(
                "parameters of a bucket must be those that were trainable when the state was "
                f"made, but one of shape {tuple(parameter.shape)} was not"
            )
        return number

    def _end_pass(self, pending: Pending) -> None:
        """Wait for all that has begun, and answer for all buckets."""
        waiting, self._waiting = self._waiting, []
        void = self.counts.void
        pending.wait()
        if self._once is not None:
            self._once.exchanged()
        if self._thrown_away is not None:
            self._thrown_away.exchanged(is_void=self.counts.void > void)
        for future, averages in waiting:
            future.set_result(averages)
        given, self._given = self._given, []
        if given:
            behind_ddp(partial(_give_back, given))


def compress_hook(
    state: CompressionState, bucket: dist.GradBucket
) -> torch.futures.Future[torch.Tensor]:
    """Average a bucket over the workers as ``state`` says; as ``powerSGD_hook`` is used.

    Raises
    ------
    TypeError
        If ``state`` is another one; where a state was copied or unpickled, there is ``None``.
    """
    if not isinstance(state, CompressionState):
        raise TypeError(f"state of compress_hook must be a CompressionState, not {state!r}")
    return state.take(bucket)


def _give_back(given: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> None:
    """Have parameters that no worker has used in a pass hold the average of what they held.

    DDP leaves them alone: what an earlier pass of the step had left there went in once more.
    """
    for parameter, average in given:
        if parameter.grad is not None:
            parameter.grad.copy_(average)


def _check_types(parameters: Mapping[str, nn.Parameter]) -> None:
    for name, parameter in parameters.items():
        if parameter.dtype not in _TYPES:
            known = ", ".join(map(str, _TYPES))
            raise TypeError(
                f"dtype of parameter {name!r} must be one of {known}, not {parameter.dtype}"
            )


def _check_layouts(saved: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Residuals lie as gradients do, in the memory format of their parameters."""
    if [*saved] != [*own]:
        raise ValueError(f"parameters of the state must be {[*own]}, not {[*saved]}")
    for name, layout in own.items():
        if saved[name] != layout:
            raise ValueError(
                f"parameter {name!r} of the state must have {layout}, not {saved[name]}"
            )
