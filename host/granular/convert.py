"""A model's layers, replaced by granular ones."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import UninitializedParameter

from .layers import GranularConv2d, GranularLayer, GranularLinear
from .policy import Policy

__all__ = ["convert"]

#: Where a module keeps what it calls before and after passes.
_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")

#: What keeps a list of the parameters, and would not know of the thresholds.
_WRAPPERS = ("DistributedDataParallel", "FullyShardedDataParallel", "DataParallel")


def convert(
    model: nn.Module,
    policy: Policy | None = None,
    overrides: Mapping[str, Policy] | None = None,
) -> nn.Module:
    """Replace each ``nn.Linear`` and ``nn.Conv2d`` of a model, in place, by a granular layer.

    The layers keep their parameters, the same objects, so that an optimizer that has them goes
    on; thresholds that are learnt come as parameters of their own. A layer that is used in two
    places stays one layer. Subclasses of the two are left alone: what ``nn.MultiheadAttention`` has
    within, for one. ``print(model)`` shows what was converted.

    Parameters
    ----------
    model : nn.Module
        Before it is wrapped in DistributedDataParallel or compiled; in float32.
    policy : Policy or None
        How the channel groups choose; ``None``: the default.
    overrides : mapping of str to Policy, or None
        Policies of single layers, by their names.

    Returns
    -------
    nn.Module
        The model itself, or the granular layer, if the model is a layer.

    Raises
    ------
    TypeError
        If the model is wrapped or compiled already, or something is of another kind; what it is, is
        named.
    ValueError
        If there is nothing to convert, ``skip`` or ``overrides`` name no layer, or the same one, or
        a layer cannot be converted: it has no shape or no values yet, is not in float32, has
        weights that are not finite or computed from others (as those of ``weight_norm``), hooks,
        groups, other padding, too few outputs for the channel groups, or too many inputs for a
        precision.
    """
    policy, overrides = policy or Policy(), overrides or {}
    _check_kinds(model, policy, overrides)
    _check(model)
    found = {
        name: layer
        for name, layer in model.named_modules()
        if isinstance(layer, nn.Linear | nn.Conv2d) and type(layer) in (nn.Linear, nn.Conv2d)
    }
    _check_names(policy, overrides, list(found))
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
        _have_called(parent)
    return model


def _have_called(parent: nn.Module) -> None:
    """Have torch's encoders call their layers in evaluation, instead of reading the weights.

    A layer with a hook is one that they call; neither would they hand it nested tensors.
    """
    if isinstance(parent, nn.TransformerEncoder):
        parent.use_nested_tensor = False
    if isinstance(parent, nn.TransformerEncoderLayer):
        for child in parent.children():
            if isinstance(child, GranularLayer):
                child.register_forward_pre_hook(_called)


def _called(*_: Any) -> None:
    """Nothing but a hook."""


def _granular(layer: nn.Linear | nn.Conv2d, policy: Policy, name: str) -> GranularLayer:
    shown = name or type(layer).__name__
    if "weight" not in layer._parameters:
        raise ValueError(
            f"weight of {shown} must be a parameter, not computed from others; skip it"
        )
    hooks = [n for n in _HOOKS if getattr(layer, n)]
    if hooks:
        raise ValueError(f"{shown} must have no hooks yet, not {hooks[0].strip('_')}; skip it")
    for parameter_name, parameter in layer.named_parameters():
        full = f"{name}.{parameter_name}" if name else parameter_name
        if parameter.is_meta:
            raise ValueError(f"{full} must have values, and is on the meta device")
        if parameter.dtype != torch.float32:
            raise ValueError(f"{full} must be of torch.float32, not {parameter.dtype}")
        if not parameter.isfinite().all():
            wrong = int((~parameter.isfinite()).sum())
            raise ValueError(
                f"{full} must be finite: {wrong} of {parameter.numel()} elements are not"
            )
    if isinstance(layer, nn.Conv2d):
        return GranularConv2d(layer, policy, shown)
    return GranularLinear(layer, policy, shown)


def _check_names(policy: Policy, overrides: Mapping[str, Policy], layers: list[str]) -> None:
    for what, names in (("skip", policy.skip), ("overrides", overrides)):
        unknown = [name for name in names if name not in layers]
        if unknown:
            raise ValueError(f"{what} must name layers ({', '.join(layers)}), not {unknown[0]!r}")
    for name, override in overrides.items():
        if name in policy.skip:
            raise ValueError(f"{name!r} must be in skip or in overrides, not in both")
        if override.skip:
            raise ValueError(f"skip must be of the model's policy, not of that of {name!r}")


def _check_kinds(model: object, policy: object, overrides: object) -> None:
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a module, not {model!r}")
    if not isinstance(policy, Policy):
        raise TypeError(f"policy must be a Policy, not {policy!r}")
    if not isinstance(overrides, Mapping):
        raise TypeError(f"overrides must be policies by names of layers, not {overrides!r}")
    for name, own in overrides.items():
        if not isinstance(own, Policy):
            raise TypeError(f"overrides must have a Policy for {name!r}, not {own!r}")


def _check(model: nn.Module) -> None:
    for name, module in model.named_modules():
        kind, shown = type(module).__name__, f" ({name})" if name else ""
        if kind in _WRAPPERS:
            raise TypeError(f"model must be converted before it is wrapped in {kind}{shown}")
        if kind == "OptimizedModule":
            raise TypeError(f"model must be converted before torch.compile{shown}")
        if isinstance(module, GranularLayer):
            raise TypeError(f"model must not be converted twice{shown}")
        if any(
            isinstance(parameter, UninitializedParameter)
            for parameter in module.parameters(recurse=False)
        ):
            raise TypeError(f"model must have been used once, so that {kind}{shown} has a shape")
