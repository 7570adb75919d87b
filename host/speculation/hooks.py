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

#: Attributes that a module gets here.
_OWN = ("forward", "__reduce_ex__")

#: Where a module keeps hooks of the kinds that are registered here, by their handles' numbers.
_KEPT = (
    *("_forward_pre_hooks", "_forward_pre_hooks_with_kwargs"),
    *("_state_dict_pre_hooks", "_load_state_dict_pre_hooks"),
)


class Hooks:
    """Tells of every call of a model's modules, and of whoever looks at their weights.

    A copy of a module, by :func:`copy.deepcopy` or in a file, is one without these hooks.

    Parameters
    ----------
    model : nn.Module
        The model.
    enter : callable
        Called before other hooks of the module, which may make weights of its parameters.
    run : callable
        Called in the place of its forward.
    look : callable
        Called before a module gives its ``state_dict`` or takes one, or is copied.
    """

    def __init__(self, model: nn.Module, enter: Enter, run: Run, look: Callable[[], None]) -> None:
        self._look = look
        self._modules = [*model.modules()]
        self._handles = [
            module.register_forward_pre_hook(enter, prepend=True, with_kwargs=True)
            for module in self._modules
        ]
        for module in self._modules:
            self._handles.append(module.register_state_dict_pre_hook(lambda *_: look()))
            self._handles.append(module.register_load_state_dict_pre_hook(lambda *_: look()))
        self._ids = {handle.id for handle in self._handles}
        self._before = {
            id(m): {name: m.__dict__[name] for name in _OWN if name in m.__dict__}
            for m in self._modules
        }
        for module in self._modules:
            module.forward = partial(_forward, run, module, module.forward)
            module.__dict__["__reduce_ex__"] = partial(self._reduced, module)

    def close(self) -> None:
        """Remove all of them."""
        for handle in self._handles:
            handle.remove()
        for module in self._modules:
            for name in _OWN:
                del module.__dict__[name]
            module.__dict__.update(self._before[id(module)])

    def _reduced(self, module: nn.Module, protocol: int) -> Any:
        """Parts of a module's copy."""
        self._look()
        parts = type(module).__reduce_ex__(module, protocol)
        if isinstance(parts, str) or len(parts) < 3:
            return parts  # it is made anew, from no state
        make, arguments, state, *rest = parts
        plain = {
            name: self._without(value) if name in _KEPT else value
            for name, value in state.items()
            if name not in _OWN
        }
        return make, arguments, plain | self._before[id(module)], *rest

    def _without(self, hooks: dict[int, Any]) -> dict[int, Any]:
        """Hooks that are not ours, in a dictionary of the same kind."""
        return type(hooks)((at, own) for at, own in hooks.items() if at not in self._ids)


def _forward(
    run: Run, module: nn.Module, forward: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    return run(module, forward, args, kwargs)
