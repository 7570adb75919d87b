"""Checks of models, regions and optimizers that speculation is asked for."""

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from adagrain.host.compression.coder import coder_of
from adagrain.host.compression.mask import Learner
from adagrain.host.compression.options import CompressionOptions
from adagrain.host.device.coprocessor import Coprocessor
from adagrain.host.distributed.cadence import check_coverage, check_kind
from adagrain.host.regions.regions import Regions, apart, trainable
from adagrain.models.interface.formats import FORMATS, STREAMED
from adagrain.models.interface.units import DIFFERENCE

from .options import SpeculationOptions

__all__ = [
    "check_buckets",
    "check_compression",
    "check_course",
    "check_device",
    "check_model",
    "check_optimizers",
    "check_regions",
    "check_types",
]


def check_model(model: nn.Module) -> None:
    """See to it that a model is one whose modules can be hooked, and whose gradients are ours.

    Raises
    ------
    TypeError
        If it is not; what is wrong is named.
    ValueError
        If a parameter has hooks, which its guess would not have; or elements of a parameter, or of
        a buffer, share memory, so that it cannot be written.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a module, not {model!r}")
    if isinstance(model, DistributedDataParallel):
        raise TypeError(
            "model must not be a DistributedDataParallel: speculation exchanges gradients by "
            "itself; give the module inside"
        )
    for name, module in model.named_modules():
        kinds = {base.__name__ for base in type(module).__mro__}
        for kind in ("OptimizedModule", "ScriptModule", "FSDPModule"):
            if kind in kinds:
                raise TypeError(
                    f"adagrain cannot speculate with module {name or '(model)'!r} ({kind}): its "
                    "calls cannot be left out"
                )
    for name, parameter in model.named_parameters():
        if parameter._backward_hooks or parameter._post_accumulate_grad_hooks:
            raise ValueError(f"parameter {name!r} must have no hooks, but has: its guess has none")
    _check_memory("parameter", model.named_parameters())
    _check_memory("buffer", model.named_buffers())


def _check_memory(kind: str, named: Iterable[tuple[str, torch.Tensor]]) -> None:
    for name, own in named:
        if any(size > 1 and not step for size, step in zip(own.shape, own.stride(), strict=True)):
            raise ValueError(
                f"{kind} {name!r} must have memory for each of its elements, but is expanded to "
                f"shape {tuple(own.shape)}: give its clone()"
            )


def check_regions(model: nn.Module, divided: Regions) -> None:
    """See to it that each trainable parameter is in one region, whole, or of a controller.

    Raises
    ------
    ValueError
        If one is not, or has no elements; it is named, and its regions. If a region has another
        one.
    """
    parameters = trainable(model)
    known = {id(parameter) for parameter in parameters.values()}
    found: dict[int, list[str]] = {}
    for region in divided:
        for part in region.slices:
            if part.rows is not None:
                raise ValueError(
                    f"regions must have whole parameters for speculation, but {region.name!r} is "
                    f"a block of rows, {part.name!r}"
                )
            if id(part.parameter) not in known:
                raise ValueError(
                    f"region {region.name!r} must have trainable parameters of the model, but "
                    f"{part.name!r} is none of them"
                )
            found.setdefault(id(part.parameter), []).append(region.name)
    out = apart(model)
    for name, parameter in parameters.items():
        if not parameter.numel():
            shape = tuple(parameter.shape)
            raise ValueError(
                f"parameter {name!r} must have elements for speculation, or be frozen, but is of "
                f"shape {shape}"
            )
        owners = found.get(id(parameter), [])
        if len(owners) != (name not in out):
            told = " and ".join(map(repr, owners)) or "none"
            wanted = "no region, as one of a controller" if name in out else "one region"
            raise ValueError(f"parameter {name!r} must be in {wanted}, but is in {told}")


def check_optimizers(
    optimizers: Sequence[torch.optim.Optimizer], parameters: Mapping[str, nn.Parameter]
) -> None:
    """See to it that optimizers can be replayed, and have each parameter once, and no others.

    Raises
    ------
    TypeError, ValueError
        If they cannot, or have not; the optimizer or parameter is named.
    """
    known = {id(parameter) for parameter in parameters.values()}
    for optimizer in optimizers:
        check_kind(optimizer)
        for own in (own for group in optimizer.param_groups for own in group["params"]):
            if own.requires_grad and id(own) not in known:
                raise ValueError(
                    f"parameters of {type(optimizer).__name__} must be the model's, but one of "
                    f"shape {tuple(own.shape)} is not"
                )
    check_coverage(optimizers, parameters)


def check_device(device: Coprocessor) -> None:
    """See to it that a device can compare updates.

    Raises
    ------
    ValueError
        If it was built without the unit.
    """
    built = device.configuration
    if DIFFERENCE.name not in built.units:
        raise ValueError(
            f"speculation needs a device with the unit {DIFFERENCE.name!r}, which device preset "
            f"{built.preset!r} has not"
        )


def check_types(divided: Regions, device: Coprocessor) -> None:
    """See to it that a device takes the elements of all regions.

    Raises
    ------
    TypeError
        If it does not take those of some parameter, which is named.
    """
    built = device.configuration
    known = [FORMATS[code].dtype for code in STREAMED if code in built.formats]
    for part in (part for region in divided for part in region.slices):
        if part.parameter.dtype not in known:
            raise TypeError(
                f"parameter {part.name!r} must be of type {', '.join(map(str, known))}, as device "
                f"preset {built.preset!r} takes them, not {part.parameter.dtype}"
            )


def check_compression(options: CompressionOptions | None, device: Coprocessor) -> None:
    """See to it that gradients can be compressed while a step is computed.

    Raises
    ------
    ValueError
        If the mask learns from activations, of which a step may compute several; or the coder is
        no use.
    """
    if options is None:
        return
    if options.mask == "learned" or isinstance(options.mask, Learner):
        raise ValueError(
            "mask must not learn from activations where steps may be computed twice, so not be "
            f"{options.mask!r} with speculation"
        )
    coder_of(options.coder, device)


def check_buckets(options: SpeculationOptions, compression: CompressionOptions | None) -> None:
    """See to it that buckets are asked for only where gradients go in some.

    Raises
    ------
    ValueError
        If they never do: each frame has all of them.
    """
    in_frames = compression is not None and compression.bypass == "never"
    if in_frames and options.bucket_bytes is not None:
        raise ValueError(
            "bucket_bytes must be left out with compression whose bypass is 'never', where one "
            f"frame has all gradients, not {options.bucket_bytes!r}"
        )


def check_course(compression: CompressionOptions | None, *, noted: bool) -> None:
    """See to it that all that depends on time can be recorded, if a run is.

    Parameters
    ----------
    compression : CompressionOptions or None
        Options of compression, if there is any.
    noted : bool
        Whether the run is recorded or replayed.

    Raises
    ------
    ValueError
        If times decide on the bypass of compression: they are in no recording.
    """
    if noted and compression is not None and compression.bypass == "auto":
        raise ValueError(
            "bypass of compression must be 'never', 'always', or decisions by number of the pass, "
            "where a run is recorded or replayed, not 'auto'"
        )
