"""Checks of models that are to be registered."""

from torch import nn
from torch.nn.parallel import DistributedDataParallel

__all__ = ["check_model"]


def check_model(model: nn.Module) -> None:
    """See to it that a model is one that DDP has wrapped, in a way that adagrain works with.

    Raises
    ------
    TypeError
        If it is not; what it is, is named, and what it must be.
    """
    if isinstance(model, DistributedDataParallel):
        if model.mixed_precision is not None:
            raise TypeError(
                "DistributedDataParallel(mixed_precision=…) does not work with adagrain: gradients "
                "and parameters have different types; use torch.autocast"
            )
        if getattr(model, "skip_all_reduce_unused_params", False):  # not in every PyTorch
            raise TypeError(
                "DistributedDataParallel(skip_all_reduce_unused_params=True) does not work with "
                "adagrain: buckets that it skips would be waited for; find_unused_parameters does"
            )
        for name, parameter in model.module.named_parameters():
            if name in model.parameters_to_ignore and parameter.requires_grad:
                raise TypeError(
                    "trainable parameters that DistributedDataParallel ignores do not work with "
                    f"adagrain: the gradient of {name!r} is not exchanged; freeze it"
                )
        return
    kind = type(model).__name__
    if any(base.__name__ == "FSDPModule" for base in type(model).__mro__):
        raise TypeError(
            "FSDP2 (fully_shard) does not work with adagrain yet: each worker holds a part of "
            "every parameter only; wrap the model in DistributedDataParallel"
        )
    if kind == "OptimizedModule":
        raise TypeError(
            "torch.compile must be inside DistributedDataParallel, not around it: "
            "DistributedDataParallel(torch.compile(model))"
        )
    raise TypeError(f"model must be a DistributedDataParallel, not {kind}")
