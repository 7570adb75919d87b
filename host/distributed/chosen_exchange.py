"""The exchange that a script chooses: dense, or compressed."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from adagrain.host.compression.exchange import CompressedExchange
from adagrain.host.compression.learned.watching import watch
from adagrain.host.compression.options import CompressionOptions
from adagrain.host.compression.own_steps import check_own_momentum
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.regions.regions import Regions

from .exchange import DenseExchange, Exchange
from .grouped_exchange import GroupedExchange
from .groups import INDIFFERENT
from .lockstep import Lockstep

__all__ = [
    "Compression",
    "check_momentum",
    "chosen_exchange",
    "common_compression",
    "compression_options",
]

#: How compression is asked for: its options by name, or as they are; ``None``: none.
Compression = Mapping[str, Any] | CompressionOptions | None


def compression_options(chosen: Compression) -> CompressionOptions | None:
    """The options that are meant.

    Raises
    ------
    TypeError, ValueError
        If it is of another kind, or an option is not there, of another kind or out of its range.
    """
    if isinstance(chosen, Mapping):
        return CompressionOptions.of(chosen)
    if chosen is not None and not isinstance(chosen, CompressionOptions):
        raise TypeError(f"compression must be a mapping from options, or None, not {chosen!r}")
    return chosen


def check_momentum(
    options: CompressionOptions | None,
    optimizers: Sequence[torch.optim.Optimizer],
    divided: Regions,
) -> None:
    """See to it that momentum does not count twice; parameters in no region go uncompressed.

    Raises
    ------
    ValueError
        If it is corrected, and an optimizer has some of its own.
    """
    if options is None or not options.momentum:
        return
    compressed = {*map(id, divided.parameters())}
    for optimizer in optimizers:
        check_own_momentum(optimizer, options.momentum, compressed)


def common_compression(options: CompressionOptions | None) -> dict[str, Any]:
    """Values that must be equal on all workers, by the names that messages have for them."""
    if options is None:
        return {"compression": "off"}
    named = {f"{name} of compression": value for name, value in options.common().items()}
    return {"compression": "on", **named}


def chosen_exchange(
    model: nn.Module,
    group: dist.ProcessGroup | None,
    regions: Regions,
    lockstep: Lockstep,
    options: CompressionOptions | None,
    device: Coprocessor,
    *,
    in_groups: bool = False,
    idle_waits: bool = False,
    depth: int = 0,
    frames: dist.ProcessGroup | None = None,
) -> Exchange:
    """The exchange of a model's regions; dense without options.

    Compressed, whatever is summed is the same however regions are put into buckets.

    Parameters
    ----------
    model : nn.Module
        Whose activations a learned mask looks at.
    regions : Regions
        Its regions.
    options : CompressionOptions or None
        How to compress.
    in_groups : bool
        It is also where the exchange is dense.
    group, lockstep, device, idle_waits, depth, frames
        As those of :class:`~adagrain.host.compression.exchange.CompressedExchange`.
    """
    sizes = [[part.numel for part in region.slices] for region in regions]
    if options is None and in_groups and dist.get_world_size(group) > INDIFFERENT:
        return GroupedExchange(group, [*map(sum, sizes)])
    if options is None:
        return DenseExchange(group)
    exchange = CompressedExchange(
        *(group, lockstep, options, sizes),
        idle_waits=idle_waits,
        device=device,
        depth=depth,
        frames=frames,
    )
    watch(exchange.mask, model, (region.slices[0].parameter for region in regions))
    return exchange
