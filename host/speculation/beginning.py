"""The beginning of speculation: the workers see to it that they can go on together."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from adagrain.host.compression.options import CompressionOptions
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.device.open_device import for_training
from adagrain.host.distributed.cadence import optimizers_of
from adagrain.host.distributed.chosen_exchange import (
    Compression,
    check_momentum,
    chosen_exchange,
    common_compression,
    compression_options,
)
from adagrain.host.distributed.common import common_values
from adagrain.host.distributed.exchange import DenseExchange, Exchange
from adagrain.host.distributed.lockstep import Lockstep
from adagrain.host.distributed.lost import waited_for
from adagrain.host.distributed.process_group import on_processors
from adagrain.host.distributed.reducer_options import ReducerOptions
from adagrain.host.regions.regions import By, Regions, regions, trainable
from adagrain.models.interface.configuration import Configuration

from .check import (
    check_buckets,
    check_compression,
    check_course,
    check_device,
    check_model,
    check_optimizers,
    check_regions,
    check_types,
)
from .chosen_course import chosen_course
from .course import Course
from .link import Link, measured_link
from .memory import check_memory
from .options import SpeculationOptions
from .runtime import Runtime
from .thresholds import with_thresholds

__all__ = ["Beginning"]

#: Most bytes of gradients that are made ready together where a frame has all of them.
_IN_FRAMES = 1 << 20


class Beginning:
    """Checks what this worker was given, compares it with the others', and makes the runtime.

    Parameters
    ----------
    model : nn.Module
        The model.
    optimizer : object
        Its optimizer, or all of them.
    group : ProcessGroup
        The workers.

    Members
    -------
    closes : list
        What has to be closed, in this order reversed, also where it does not come to a runtime.
    optimizers : list of torch.optim.Optimizer
        The optimizers, once :meth:`agree` has returned.
    device : Coprocessor
        This worker's device, likewise.
    """

    optimizers: list[torch.optim.Optimizer]
    device: Coprocessor
    _options: SpeculationOptions
    _reducing: ReducerOptions
    _compressing: CompressionOptions | None
    _regions: Regions
    _course: Course

    def __init__(self, model: nn.Module, optimizer: object, group: dist.ProcessGroup) -> None:
        self.closes: list[Any] = []
        self._model = model
        self._optimizer = optimizer
        self._group = group
        self._lockstep = Lockstep(group)
        self.closes.append(self._lockstep)

    def agree(
        self,
        device: str | Coprocessor,
        preset: str | Configuration,
        by: By | Regions,
        compression: Compression,
        options: Mapping[str, Any],
    ) -> None:
        """Check this worker's model, device and options, which must be the same on all workers.

        Parameters
        ----------
        device, preset, by, compression, options
            As those of :func:`~.speculate.speculate`.

        Raises
        ------
        TypeError, ValueError
            As :func:`~.speculate.speculate`; on all workers.
        WorkerFailedError
            If another worker cannot begin.
        """
        common: dict[str, Any] = {}
        error: Exception | None = None
        try:
            self._choose(by, compression, options)
            self._open(device, preset)
            common = self._common()
            common |= self._follow(common)
        except Exception as failure:
            error = failure
        self._lockstep.begin(common, error)

    def runtime(self) -> tuple[Exchange, Runtime]:
        """The exchange between the workers, and what takes steps; all begin with equal weights."""
        model, group, chosen = self._model, self._group, self._options
        if self._compressing is not None and self._compressing.bypass == "never":
            chosen = replace(chosen, bucket_bytes=_IN_FRAMES)
        _make_equal(model, group)
        compresses = self._compressing is not None
        exchange = chosen_exchange(
            *(model, group, self._regions, Lockstep(group) if compresses else self._lockstep),
            *(self._compressing, self.device),
            depth=max(1, chosen.depth),
            frames=on_processors(group) if compresses else None,
        )
        try:
            return exchange, self._runtime(exchange, chosen)
        except BaseException:
            exchange.close()
            raise

    def _runtime(self, exchange: Exchange, chosen: SpeculationOptions) -> Runtime:
        measures = chosen.bucket_bytes is None and chosen.replay is None
        link = _link_of(self._model, self._group) if measures else None
        if link is not None and isinstance(exchange, DenseExchange):
            exchange.short = link.short
        return Runtime(
            *(self._model, self.optimizers, self._regions, self.device, self._lockstep, exchange),
            *(chosen, self._reducing, link, self._course),
        )

    def _choose(
        self, by: By | Regions, compression: Compression, options: Mapping[str, Any]
    ) -> None:
        check_model(self._model)
        self.optimizers = optimizers_of(self._optimizer)
        self._options, reducing = SpeculationOptions.of(options)
        self._reducing = with_thresholds(reducing, self._options.worth, self.optimizers)
        self._compressing = compression_options(compression)
        check_buckets(self._options, self._compressing)
        parameters = trainable(self._model)
        self._regions = by if isinstance(by, Regions) else regions(self._model, by)
        check_regions(self._model, self._regions)
        check_memory(parameters.values(), self._options.depth)
        check_optimizers(self.optimizers, parameters)
        check_momentum(self._compressing, self.optimizers, self._regions)

    def _open(self, device: str | Coprocessor, preset: str | Configuration) -> None:
        self.device = for_training(device, preset)
        if isinstance(device, str):  # whoever has opened it closes it
            self.closes.append(self.device)
        check_device(self.device)
        check_types(self._regions, self.device)
        check_compression(self._compressing, self.device)

    def _common(self) -> dict[str, Any]:
        """Values that must be equal on all workers."""
        configuration = self.device.configuration
        return {
            **common_values(self._regions, self.optimizers, configuration),
            **self._options.common(),
            **self._reducing.common(),
            **common_compression(self._compressing),
        }

    def _follow(self, common: Mapping[str, Any]) -> dict[str, Any]:
        """Open a recording that is to be written or followed; what must be equal of it."""
        noted = self._options.record is not None or self._options.replay is not None
        check_course(self._compressing, noted=noted)
        self._course = chosen_course(self._options, self._regions.names, self._group)
        self.closes.append(self._course)
        return self._course.compare(common)


def _make_equal(model: nn.Module, group: dist.ProcessGroup) -> None:
    """Give all workers the weights and buffers of the first."""
    first = dist.get_process_group_ranks(group)[0]
    with waited_for("the broadcast of weights"):
        for tensor in (*model.parameters(), *model.buffers()):
            own = tensor.detach()
            whole = own.contiguous()  # gloo knows no strides
            dist.broadcast(whole, src=first, group=group)
            if whole is not own:
                own.copy_(whole)


def _link_of(model: nn.Module, group: dist.ProcessGroup) -> Link:
    """Measure what joins the workers, with what will be exchanged."""
    parameters = [*trainable(model).values()]
    return measured_link(group, parameters[0], sum(own.nbytes for own in parameters))
