"""Speculation that cannot begin, on one worker or on all."""

from collections.abc import Callable

import torch
import torch.distributed as dist
from speculation_misuse_setup import Branches, Setup, case, on_one
from speculation_setup import begun, sgd
from torch import nn

import adagrain
from adagrain.host.regions.regions import ParameterSlice, Region, Regions
from adagrain.host.speculation import memory
from adagrain.models.interface.configuration import configuration

#: A device that compares, and does not code.
NO_CODEC = configuration("full", units=("statistics", "region_manager", "difference"))


@case
def memory_is_short_on_one() -> None:
    if on_one():
        memory._available = lambda: 100  # type: ignore[assignment]
    Setup(depth=2)


@case
def compression_on_one() -> None:
    Setup(compression={} if on_one() else None)


@case
def density_differs() -> None:
    Setup(compression={"density": 0.2 if on_one() else 0.1})


@case
def coder_is_none_on_one() -> None:
    Setup(compression={"coder": "device" if on_one() else "golden"}, preset=NO_CODEC)


@case
def learned_mask() -> None:
    Setup(compression={"mask": "learned"})


@case
def tau_differs() -> None:
    Setup(tau=0.2 if on_one() else 0.1)


@case
def cadences_differ() -> None:
    Setup(cadences={"a": 2 if on_one() else 4})


@case
def rates_differ() -> None:
    Setup(rate=0.2 if on_one() else 0.1)


@case
def not_a_number() -> None:
    Setup(tau=float("nan"))


@case
def no_difference_on_one() -> None:
    Setup(preset="tiny" if on_one() else "full")


@case
def tau_is_negative_on_one() -> None:
    Setup(tau=-0.5 if on_one() else 0.5)


@case
def buckets_of_frames_on_one() -> None:
    compression = {"bypass": "never"}
    model = Branches()
    size = 1 if on_one() else None
    adagrain.speculate(model, sgd(model), compression=compression, bucket_bytes=size)


def divided_wrongly_on_one(change: Callable[[list[Region]], list[Region]]) -> None:
    """Regions that a script has made itself, wrong on one worker."""
    model = Branches()
    regions = [*adagrain.regions(model)]
    begun(model, sgd(model), by=Regions(change(regions) if on_one() else regions))


@case
def region_is_lacking_on_one() -> None:
    divided_wrongly_on_one(lambda regions: regions[1:])


@case
def region_of_another_model_on_one() -> None:
    stranger = Region("c", (ParameterSlice("c.weight", nn.Linear(4, 4).weight),))
    divided_wrongly_on_one(lambda regions: [*regions, stranger])


@case
def regions_in_another_order_on_one() -> None:
    divided_wrongly_on_one(lambda regions: regions[::-1])


@case
def no_optimizer_on_one() -> None:
    model = Branches()
    begun(model, None if on_one() else sgd(model))


class Buffered(Branches):
    """Has a buffer of its own."""

    def __init__(self, buffer: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("own", buffer)


@case
def expanded_buffer_on_one() -> None:
    model = Buffered(torch.zeros(1).expand(8) if on_one() else torch.zeros(8))
    begun(model, sgd(model))


@case
def every_other_column_is_a_buffer() -> None:
    """Which is no failure: it is that of the last words."""
    base = torch.full((4, 6), float(dist.get_rank()))
    model = Buffered(base[:, ::2])
    begun(model, sgd(model)).close()
    assert (base[:, ::2] == 0).all() and (base[:, 1::2] == dist.get_rank()).all(), base
    raise ValueError("all is well")


@case
def double_precision_on_one() -> None:
    model = Branches().to(torch.float64 if on_one() else torch.float32)
    begun(model, sgd(model))
