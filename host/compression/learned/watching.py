"""Begin and end of what a mask that learns sees of modules."""

from collections.abc import Iterable

from torch import nn

from adagrain.host.compression.mask import Mask

from .activations import owners_of
from .mask import LearnedMask

__all__ = ["let_go", "watch"]


def watch(mask: Mask, model: nn.Module, parameters: Iterable[nn.Parameter]) -> None:
    """Let a mask that learns look at the activations of the modules that have these parameters.

    Parameters
    ----------
    mask : Mask
        Any; others do not look at them.
    model : Module
        Where the modules are.
    parameters : iterable of Parameter
        One of each region.
    """
    if isinstance(mask, LearnedMask):
        mask.watch(owners_of(model, parameters))


def let_go(mask: Mask) -> None:
    """Have a mask look at no modules any more."""
    if isinstance(mask, LearnedMask):
        mask.close()
