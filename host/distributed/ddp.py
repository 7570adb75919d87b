"""Two lines for anyone's script: the reducer behind DDP's communication hook."""

from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.regions.regions import By
from adagrain.models.interface.configuration import Configuration

from .adagrain_state import AdagrainState, Optimizers
from .chosen_exchange import Compression

__all__ = ["adagrain_hook", "register"]


def adagrain_hook(
    state: AdagrainState, bucket: dist.GradBucket
) -> torch.futures.Future[torch.Tensor]:
    """Average a bucket's regions over the workers where they are due, and have the device decide.

    A communication hook as ``powerSGD_hook`` is one; :func:`register` registers it.
    """
    return state.take(bucket)


def register(
    model: DistributedDataParallel,
    optimizer: Optimizers,
    device: str | Coprocessor = "golden:",
    *,
    preset: str | Configuration = "full",
    by: By = "module",
    cap: float = 0.2,
    compression: Compression = None,
    **options: Any,
) -> AdagrainState:
    """Let a coprocessor decide when each region of a DDP model is exchanged and updated.

    ::

        adagrain.register(ddp_model, optimizer, device="sim:")

    All else stays as it is: the optimizer, its schedulers, clipping with
    :func:`torch.nn.utils.clip_grad_norm_`, checkpoints. After a backward pass the gradients of
    regions that are due are averages over workers and steps, those of others are zero.

    Works with ``set_to_none``, ``foreach`` and ``fused`` optimizers, closures that are evaluated
    once, several optimizers, tied parameters, unused ones (``find_unused_parameters``),
    ``static_graph``, ``no_sync``, several backward passes per step, ``gradient_as_bucket_view``,
    and modules that were compiled before they were wrapped.

    Parameters
    ----------
    model : DistributedDataParallel
        The wrapped model; it must not have a communication hook yet.
    optimizer : torch.optim.Optimizer, or several
        Its optimizer, or all of them; each trainable parameter is in one.
    device : str or Coprocessor
        This worker's device or its url. When it fails the golden model takes over.
    preset : str or Configuration
        Device preset, or configuration, that it was built with, where it is given by url.
    by : str or callable
        How parameters are divided, as in :func:`adagrain.regions`.
    cap : float
        Highest learning rate that a cadence above 1 may reach.
    compression : mapping, CompressionOptions or None
        Few elements of each region are exchanged, others wait: options of
        :class:`~adagrain.host.compression.options.CompressionOptions`, as ``{"density": 0.01}``.
        ``None``: regions go whole, in their own precision.
    options
        Those of :class:`~adagrain.host.distributed.reducer_options.ReducerOptions`.

    Raises
    ------
    TypeError
        If the model is not a ``DistributedDataParallel``, there is no such option, or the
        optimizer cannot be used so; what it is, is named.
    ValueError
        If an option is out of its range, or not the same on all workers; on all of them.
    WorkerFailedError
        If another worker cannot begin.
    """
    state = AdagrainState(
        model, optimizer, device, preset=preset, by=by, cap=cap, compression=compression, **options
    )
    try:
        model.register_comm_hook(state, adagrain_hook)
    except BaseException:
        state.close()
        raise
    return state
