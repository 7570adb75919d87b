"""A model's layers, replaced by granular ones."""

from collections.abc import Mapping

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from .layers import GranularConv2d, GranularLayer, GranularLinear
from .policy import Policy

__all__ = ["convert"]


def convert(
    model: nn.Module,
    policy: Policy | None = None,
    overrides: Mapping[str, Policy] | None = None,
) -> nn.Module:
    """Replace each ``nn.Linear`` and ``nn.Conv2d`` of a model, in place, by a granular layer.

    The layers keep their parameters, the same objects, so that an optimizer that has them goes
    on; thresholds that are learnt come as parameters of their own. A layer that is used in two
    places stays one layer. Subclasses of the two are left alone.

    Parameters
    ----------
    model : nn.Module
        Before it is wrapped in DistributedDataParallel or compiled; in float32.
    policy : Policy or None
        How the units choose; ``None``: the default.
    overrides : mapping of str to Policy, or None
        Policies of single layers, by their names.

    Returns
    -------
    nn.Module
        The model itself, or the granular layer, if the model is a layer.

    Raises
    ------
    TypeError
        If the model is wrapped or compiled already; what it is, is named.
    ValueError
        If there is nothing to convert, ``skip`` or ``overrides`` name no layer, or a layer cannot
        be converted: it is not in float32, has weights that are not finite, groups, other padding,
        too few outputs for the units, or too many inputs for FP16.
    """
    policy = policy or Policy()
    _check(model)
    found = {
        name: layer
        for name, layer in model.named_modules()
        if isinstance(layer, nn.Linear | nn.Conv2d) and type(layer) in (nn.Linear, nn.Conv2d)
    }
    overrides = overrides or {}
    for what, names in (("skip", policy.skip), ("overrides", overrides)):
        unknown = [name for name in names if name not in found]
        if unknown:
            raise ValueError(f"{what} must name layers ({', '.join(found)}), not {unknown[0]!r}")
    chosen = {name: layer for name, layer in found.items() if name not in policy.skip}
    if not chosen:
        raise ValueError("model must have nn.Linear or nn.Conv2d layers to convert, and has none")
    made = {
        layer: _granular(layer, overrides.get(name, policy), name) for name, layer in chosen.items()
    }
    if model in made:
        return made[model]
    for parent in list(model.modules()):
        for name, child in parent._modules.items():
            if child in made:
                parent._modules[name] = made[child]
    return model


def _granular(layer: nn.Linear | nn.Conv2d, policy: Policy, name: str) -> GranularLayer:
    for parameter_name, parameter in layer.named_parameters():
        full = f"{name}.{parameter_name}" if name else parameter_name
        if parameter.dtype != torch.float32:
            raise ValueError(f"{full} must be of torch.float32, not {parameter.dtype}")
        if not parameter.isfinite().all():
            wrong = int((~parameter.isfinite()).sum())
            raise ValueError(
                f"{full} must be finite: {wrong} of {parameter.numel()} elements are not"
            )
    shown = name or type(layer).__name__
    if isinstance(layer, nn.Conv2d):
        return GranularConv2d(layer, policy, shown)
    return GranularLinear(layer, policy, shown)


def _check(model: nn.Module) -> None:
    kind = type(model).__name__
    if isinstance(model, DistributedDataParallel):
        raise TypeError("model must be converted before it is wrapped in DistributedDataParallel")
    if kind == "OptimizedModule":
        raise TypeError("model must be converted before torch.compile")
    if any(isinstance(module, GranularLayer) for module in model.modules()):
        raise TypeError("model must not be converted twice")
