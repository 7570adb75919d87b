"""Ties the steps of a user's own optimizers to the backward passes that they follow."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any
from weakref import WeakSet, finalize

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from adagrain.host.regions.regions import Regions, trainable

from .cadence import OptimizerCadence, check_coverage
from .grad_scaler import Refusing
from .watch import Watch
from .weakly import weakly

__all__ = ["Steps"]

#: Optimizers whose steps are tied to a model's passes.
_TIED: WeakSet[torch.optim.Optimizer] = WeakSet()

#: All that hook optimizers, until they are closed.
_AT_WORK: "WeakSet[Steps]" = WeakSet()


class Steps:
    """Hooks on optimizers: their steps update the regions that are due.

    A step belongs to the backward passes since the last; it needs one. Where there are several
    optimizers, each of them steps once after the passes. Everything else is refused by name, on
    all workers, also a step of an optimizer that is not one of these on a parameter of theirs.

    Closures are evaluated once, before anything is updated.

    Parameters
    ----------
    optimizers : sequence of torch.optim.Optimizer
        All that step on the model's parameters.
    model : nn.Module
        The model.
    regions : Regions
        Its regions.
    wrapper : callable
        Gives what wraps the model; ``None`` once that is gone: then other optimizers may have its
        parameters.
    cap : float
        As that of :class:`OptimizerCadence`.
    told : callable
        Gives a context that tells the other workers of an error which is raised inside.
    watch : Watch
        Knows of gradients that were not exchanged.
    decide : callable
        Called once per step, after the last backward pass: the regions that are due.

    Raises
    ------
    TypeError, ValueError
        If an optimizer cannot be used so, or a parameter is in none of them, or in several.
    """

    def __init__(
        self,
        optimizers: Sequence[torch.optim.Optimizer],
        model: nn.Module,
        regions: Regions,
        *,
        wrapper: Callable[[], nn.Module | None],
        cap: float,
        told: Callable[[], AbstractContextManager[None]],
        watch: Watch,
        decide: Callable[[], Mapping[int, int]],
    ) -> None:
        given = [*optimizers]
        optimizers = [_unwrapped(optimizer) for optimizer in given]
        self._optimizers = [OptimizerCadence(own, regions, cap=cap) for own in optimizers]
        for own in optimizers:
            _check_free(own)
        parameters = trainable(model)
        check_coverage(optimizers, parameters)
        self._wrapper = wrapper
        self._known = [*given, *optimizers]
        self._names = {id(parameter): name for name, parameter in parameters.items()}
        self._check_alone()
        self._frozen = {id(p): n for n, p in model.named_parameters() if not p.requires_grad}
        self._model = model
        self._parameters = list(regions.parameters())
        self._stand_in: torch.optim.Optimizer | None = None
        self._once: _Once | None = None
        self._told = told
        self._watch = watch
        self._decide = decide
        self._waiting: set[int] = set()
        self._due: Mapping[int, int] | None = None
        self._weights = self._weight_versions()
        hook = register_optimizer_step_pre_hook(weakly(self._any_optimizer))
        finalize(self, hook.remove)
        _AT_WORK.add(self)
        self._removable: list[Any] = [hook]
        for number, own in enumerate(optimizers):
            _TIED.add(own)
            self._removable += [
                Refusing(own),
                own.register_step_pre_hook(partial(self._before, number)),
                own.register_step_post_hook(partial(self._after, number)),
            ]

    def check_pass(self) -> None:
        """See to it that a backward pass may be exchanged now.

        Raises
        ------
        RuntimeError
            If what happened since the last one does not fit.
        """
        if self._due is not None and self._waiting:
            raise RuntimeError(
                "every registered optimizer must step after a backward pass, but "
                f"{self._missing()} did not"
            )
        if self._waiting and self._watch.lost:
            raise RuntimeError(
                "optimizer.step() must follow a backward pass before its gradients are changed or "
                "thrown away (compute gradients that are to be thrown away inside model.no_sync())"
            )
        if self._waiting and self._weights != self._weight_versions():
            raise RuntimeError(
                "weights must be updated by optimizer.step() of the registered optimizer, but "
                "they were changed after the last backward pass without it"
            )

    def passed(self) -> None:
        """Say that a backward pass was exchanged."""
        self._waiting = set(range(len(self._optimizers)))
        self._due = None
        self._weights = self._weight_versions()

    def check_ended(self) -> None:
        """See to it that no step is under way, for a state to be taken.

        Raises
        ------
        RuntimeError
            If an optimizer has yet to step, or its step has failed.
        """
        if self._waiting:
            raise RuntimeError(
                f"state must be taken after the steps of all optimizers, but {self._missing()} "
                "did not step"
            )
        if self._stand_in is not None:
            raise RuntimeError(
                f"state must be taken after whole steps, but one of "
                f"{type(self._stand_in).__name__} has failed: go on from that of an earlier step"
            )

    def forget(self) -> None:
        """Wait for no step: what was passed belongs to a run that has been left."""
        self._waiting = set()
        self._due = self._stand_in = None
        self._watch.forget()

    def close(self) -> None:
        """Let go of the optimizers."""
        _AT_WORK.discard(self)
        for hook in self._removable:
            hook.remove()
        for own in self._optimizers:
            _TIED.discard(own.optimizer)

    def _check_alone(self) -> None:
        """See to it that no other wrapper's passes decide on steps of these parameters."""
        others = [own._names for own in _AT_WORK if own._wrapper() is not None]
        for number, name in self._names.items():
            if any(number in names for names in others):
                raise ValueError(
                    f"parameter {name!r} must be of one registered model, but another one that "
                    "wraps it is registered already; close() the state of that"
                )

    def _before(
        self, number: int, optimizer: torch.optim.Optimizer, args: tuple, kwargs: dict[str, Any]
    ) -> tuple[tuple, dict[str, Any]] | None:
        """In front of a step: put the stand-in into the optimizer's place."""
        cadence = self._optimizers[number]
        if optimizer is not cadence.optimizer:
            return None  # a stand-in whose class calls the step of the class below
        stand_in, self._once = cadence.stand_in(), None
        closure = args[1] if len(args) > 1 else kwargs.get("closure")
        if closure is None:
            self._begin(number, stand_in)
            self._stand_in = stand_in
            return (stand_in, *args[1:]), kwargs
        self._stand_in = stand_in
        self._once = _Once(closure, partial(self._begin, number, stand_in))
        if len(args) > 1:
            return (stand_in, self._once, *args[2:]), kwargs
        return (stand_in,), {**kwargs, "closure": self._once}

    def _begin(self, number: int, stand_in: torch.optim.Optimizer) -> None:
        with self._told():
            self._check_step(number)
            if self._due is None:
                self._due = self._decide()
                self._watch.used()
            self._waiting.discard(number)
            self._optimizers[number].fill(stand_in, self._due)

    def _check_step(self, number: int) -> None:
        name = self._name(number)
        if number not in self._waiting:
            raise RuntimeError(
                f"a step of {name} must follow a backward pass that exchanges gradients, but there "
                "was none since its last one"
            )
        if self._watch.local:
            raise RuntimeError(
                f"a step of {name} must follow a backward pass that exchanges gradients, but the "
                "last one was inside model.no_sync(), or a second one through the same forward pass"
            )
        for group in self._optimizers[number].optimizer.param_groups:
            for parameter in group["params"]:
                if id(parameter) not in self._names:
                    self._check_stranger(parameter)

    def _check_stranger(self, parameter: nn.Parameter) -> None:
        if parameter.grad is None:
            return
        if id(parameter) in self._frozen:
            raise RuntimeError(
                f"parameter {self._frozen[id(parameter)]!r} must be trainable when the model is "
                "wrapped, for its gradients to be exchanged, but was frozen"
            )
        for name, own in self._model.named_parameters():
            if own is parameter:
                raise RuntimeError(
                    f"parameter {name!r} must be there when the model is wrapped, for its "
                    "gradients to be exchanged, but was added later"
                )

    def _after(
        self, number: int, optimizer: torch.optim.Optimizer, args: tuple, kwargs: dict[str, Any]
    ) -> None:
        """Behind a step: keep what the stand-in has."""
        cadence = self._optimizers[number]
        if optimizer is not cadence.optimizer:
            return
        with self._told():
            once, self._once = self._once, None
            if once is not None and not once.called:
                raise TypeError(f"{self._name(number)} must evaluate the closure, but did not")
            cadence.keep(args[0])
        self._stand_in = None

    def _any_optimizer(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """In front of the step of any optimizer: it must be one of ours, or not on our model."""
        if optimizer is self._stand_in or any(optimizer is known for known in self._known):
            return
        if self._wrapper() is None:
            return
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if id(parameter) in self._names:
                    with self._told():
                        raise RuntimeError(
                            f"{type(optimizer).__name__} must be registered to step on parameter "
                            f"{self._names[id(parameter)]!r}: register(model, [optimizer, …])"
                        )

    def _missing(self) -> str:
        return ", ".join(self._name(number) for number in sorted(self._waiting))

    def _name(self, number: int) -> str:
        kind = type(self._optimizers[number].optimizer).__name__
        return kind if len(self._optimizers) == 1 else f"optimizer {number} ({kind})"

    def _weight_versions(self) -> list[int]:
        return [parameter._version for parameter in self._parameters]


class _Once:
    """A closure that is evaluated once, and something done behind it."""

    def __init__(self, closure: Callable[[], Any], then: Callable[[], None]) -> None:
        self._closure = closure
        self._then = then
        self.called = False

    def __call__(self) -> Any:
        if self.called:
            raise TypeError(
                "an optimizer must evaluate its closure once per step, not twice, with adagrain"
            )
        self.called = True
        result = self._closure()
        self._then()
        return result


def _check_free(optimizer: torch.optim.Optimizer) -> None:
    """See to it that no other model's passes decide on an optimizer's steps."""
    if optimizer in _TIED:
        kind = type(optimizer).__name__
        raise ValueError(
            f"{kind} must step for one registered model, but is registered with another already; "
            "give each model an optimizer of its own, or close() the state of the other"
        )


def _unwrapped(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """The optimizer inside those of Accelerate and Lightning, which only pass calls on."""
    while isinstance(inner := getattr(optimizer, "optimizer", None), torch.optim.Optimizer):
        optimizer = inner
    return optimizer
