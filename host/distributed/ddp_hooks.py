"""Tools of DDP's communication hooks: gradients of a bucket, and the moment behind a pass."""

from collections.abc import Callable

import torch
import torch.distributed as dist

__all__ = ["behind_ddp", "gradients_of"]


def behind_ddp(call: Callable[[], None]) -> None:
    """Call something at the end of the backward pass, when gradients are where DDP puts them.

    DDP queues a callback of its own behind the last bucket's hook, which copies the results.
    """
    engine = torch.autograd.Variable._execution_engine
    engine.queue_callback(lambda: engine.queue_callback(call))


def gradients_of(bucket: dist.GradBucket) -> list[torch.Tensor]:
    """A bucket's gradients, in the order of memory that DDP gives each of them."""
    rows = zip(bucket.parameters(), bucket.gradients(), strict=True)
    return [_as_it_lies(parameter, gradient) for parameter, gradient in rows]


def _as_it_lies(parameter: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """A gradient with its parameter's strides, but where these leave gaps or overlap."""
    strides = parameter.stride()
    if parameter.is_contiguous() or torch.empty_like(parameter, device="meta").stride() != strides:
        return gradient
    return gradient.as_strided(parameter.size(), strides)
