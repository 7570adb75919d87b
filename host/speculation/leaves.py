"""Leaf tensors of each parameter, of which a model's modules see one at a time."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import nn

__all__ = ["Leaves"]


class Leaves:
    """Leaves of three kinds for each parameter: anchor, guesses, stand-in.

    The *anchor* is the model's own parameter. A *guess* has memory of its own, so that the
    backward pass of results that are kept finds the weights that they were computed with, whatever
    the anchor has become. (Weight stashing, as in PipeDream, Narayanan et al. 2019.) The
    *stand-in* shows the anchor's memory while an update is in flight that no module has asked for
    yet: a gradient that reaches it tells that the parameter was used outside of modules' calls.

    Modules see a leaf by their own attribute, as they would see a parameter that was assigned.

    Parameters
    ----------
    model : nn.Module
        Whose parameters they are.
    parameters : mapping
        Its trainable parameters, by name.
    """

    def __init__(self, model: nn.Module, parameters: Mapping[str, nn.Parameter]) -> None:
        self._owners: dict[int, list[tuple[nn.Module, str]]] = defaultdict(list)
        for module in model.modules():
            for name, parameter in module._parameters.items():
                self._owners[id(parameter)].append((module, name))
        self._names = {id(parameter): name for name, parameter in parameters.items()}
        self._attributes: dict[nn.Module, list[tuple[str, int]]] = defaultdict(list)
        for number in self._names:
            for module, name in self._owners[number]:
                self._attributes[module].append((name, number))
        self._frozen = {
            name: own for name, own in model.named_parameters() if id(own) not in self._names
        }
        self._given: list[tuple[nn.Parameter, nn.Parameter]] = []
        self._spare: dict[int, list[nn.Parameter]] = defaultdict(list)
        self._stand_ins = {id(p): nn.Parameter(p.data) for p in parameters.values()}
        self._bound: dict[int, nn.Parameter] = {id(p): p for p in parameters.values()}
        self._anchors = [*parameters.values()]
        self._ready: Callable[[nn.Parameter], None] | None = None
        self._hooks: list[Any] = []

    def watch(self, ready: Callable[[nn.Parameter], None]) -> None:
        """Call somebody with a parameter whenever the leaf that modules see gets a gradient."""
        self._ready = ready
        for parameter in self._anchors:
            self._hook(parameter, parameter)

    def close(self) -> None:
        """Watch no longer."""
        for hook in self._hooks:
            hook.remove()
        self._ready = None

    def check(self) -> None:
        """See to it that modules have the parameters that they had, and no others are trained.

        Raises
        ------
        RuntimeError
            If a parameter was replaced, or is not frozen any more; it is named.
        """
        for number, name in self._names.items():
            if not all(self._sees(*own, number) for own in self._owners[number]):
                raise RuntimeError(
                    f"parameter {name!r} must stay the one that it was when speculation began, but "
                    "was replaced: close() and begin anew"
                )
        for name, parameter in self._frozen.items():
            if parameter.requires_grad:
                raise RuntimeError(
                    f"parameter {name!r} must be trainable when speculation begins, for its "
                    "gradients to be exchanged, but was frozen"
                )

    def frozen_versions(self) -> dict[str, int]:
        """Number of changes of each frozen parameter, by name."""
        return {name: own._version for name, own in self._frozen.items() if not own.is_inference()}

    def check_frozen(self, before: Mapping[str, int]) -> None:
        """See to it that a closure has not changed a frozen parameter.

        Raises
        ------
        RuntimeError
            If it has; the parameter is named.
        """
        for name, version in self.frozen_versions().items():
            if version != before.get(name):
                raise RuntimeError(
                    f"parameter {name!r} is frozen, and must not be changed within a closure, "
                    "which may be run again: change it between steps"
                )

    def is_swapped(self, module: nn.Module) -> bool:
        """True if a module has other weights for a call, as by ``torch.func.functional_call``."""
        return not all(self._sees(module, *own) for own in self._attributes[module])

    def modules(self, parameter: nn.Parameter) -> list[nn.Module]:
        """The modules that have a parameter."""
        return [module for module, _ in self._owners[id(parameter)]]

    def guess(self, parameter: nn.Parameter) -> nn.Parameter:
        """Another leaf for a guess of a parameter, with the anchor's weights of now."""
        spare = self._spare[id(parameter)]
        leaf = spare.pop() if spare else self._made(parameter)
        self._given.append((parameter, leaf))
        leaf.data.copy_(parameter.data)
        return leaf

    def take_back(self) -> None:
        """Say that nobody needs the guesses that were given out."""
        for parameter, leaf in self._given:
            self._spare[id(parameter)].append(leaf)
        self._given = []

    def bind_anchor(self, parameter: nn.Parameter) -> None:
        """Have modules see the anchor."""
        self._bind(parameter, parameter)

    def bind_guess(self, parameter: nn.Parameter, leaf: nn.Parameter) -> None:
        """Have modules see a guess."""
        self._bind(parameter, leaf)

    def bind_stand_in(self, parameter: nn.Parameter) -> None:
        """Have modules see the stand-in."""
        leaf = self._stand_ins[id(parameter)]
        leaf.data = parameter.data
        self._bind(parameter, leaf)

    def forget_gradients(self) -> None:
        """Throw the gradients of all leaves away."""
        given = [leaf for _, leaf in self._given]
        for leaf in (*self._anchors, *given, *self._stand_ins.values()):
            leaf.grad = None

    def stand_in(self, parameter: nn.Parameter) -> nn.Parameter:
        """A parameter's stand-in."""
        return self._stand_ins[id(parameter)]

    def bound(self, parameter: nn.Parameter) -> nn.Parameter:
        """The leaf that modules see."""
        return self._bound[id(parameter)]

    def take_gradient(self, parameter: nn.Parameter) -> torch.Tensor:
        """As :meth:`gradient`; the leaf has none then."""
        gradient = self.gradient(parameter)
        self._bound[id(parameter)].grad = None
        return gradient

    def gradient(self, parameter: nn.Parameter) -> torch.Tensor:
        """The gradient of the leaf that modules see.

        Raises
        ------
        RuntimeError
            If it has none.
        TypeError
            If it is sparse.
        """
        gradient = self._bound[id(parameter)].grad
        if gradient is None:
            raise RuntimeError(
                f"parameter {self._names[id(parameter)]!r} must get a gradient in every backward "
                "pass, but got none: freeze it before speculate, or leave it out of the model"
            )
        if gradient.is_sparse:
            raise TypeError(
                f"gradients must be dense, but that of {self._names[id(parameter)]!r} is sparse"
            )
        return gradient

    def _made(self, parameter: nn.Parameter) -> nn.Parameter:
        leaf = nn.Parameter(torch.empty_like(parameter))
        self._hook(parameter, leaf)
        return leaf

    def _hook(self, parameter: nn.Parameter, leaf: nn.Parameter) -> None:
        self._hooks.append(
            leaf.register_post_accumulate_grad_hook(partial(self._accumulated, parameter))
        )

    def _accumulated(self, parameter: nn.Parameter, leaf: torch.Tensor) -> None:
        if self._ready and leaf is self._bound[id(parameter)]:
            self._ready(parameter)

    def _bind(self, parameter: nn.Parameter, leaf: nn.Parameter) -> None:
        number = id(parameter)
        if self._bound[number] is leaf:
            return
        if not all(self._sees(*owner, number) for owner in self._owners[number]):
            raise RuntimeError(
                f"parameter {self._names[number]!r} must not be replaced within a closure while "
                "another one of its region is used"
            )
        self._bound[number] = leaf
        for module, name in self._owners[number]:
            setattr(module, name, leaf)

    def _sees(self, module: nn.Module, name: str, number: int) -> bool:
        """True if a module's attribute is the leaf that it was given of a parameter."""
        return module._parameters.get(name) is self._bound[number]
