"""Hooks on all modules of a model: in front of each call, and in the place of its forward."""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn

__all__ = ["Hooks"]

#: Called with a module, its arguments and named arguments.
Enter = Callable[[nn.Module, tuple[Any, ...], dict[str, Any]], None]

#: Called with a module, its own forward, its arguments and named arguments; returns the output.
Run = Callable[[nn.Module, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]


class Hooks:
    """Tells of every call of a model's modules.

    Parameters
    ----------
    model : nn.Module
        The model.
    enter : callable
        Called before other hooks of the module, which may make weights of its parameters.
    run : callable
        Called in the place of its forward.
    """

    def __init__(self, model: nn.Module, enter: Enter, run: Run) -> None:
        self._modules = [*model.modules()]
        self._handles = [
            module.register_forward_pre_hook(enter, prepend=True, with_kwargs=True)
            for module in self._modules
        ]
        self._before = {id(m): m.__dict__.get("forward") for m in self._modules}
        for module in self._modules:
            module.forward = partial(_forward, run, module, module.forward)

    def close(self) -> None:
        """Remove all of them."""
        for handle in self._handles:
            handle.remove()
        for module in self._modules:
            del module.forward
            if (before := self._before[id(module)]) is not None:
                module.forward = before


def _forward(
    run: Run, module: nn.Module, forward: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    return run(module, forward, args, kwargs)
