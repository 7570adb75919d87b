"""Optimizers whose regions are updated each at its own cadence."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from reprlib import repr as shortened
from typing import Any

import torch
from torch import nn

from adagrain.host.regions.regions import ParameterSlice, Regions

from .rates import rate_at

__all__ = ["OptimizerCadence", "check_coverage", "check_kind", "optimizers_of"]

#: Optimizers that treat each element by itself, so that blocks of rows may be updated alone.
_ELEMENTWISE = {
    "SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop", "Rprop",
    "ASGD",
}  # fmt: skip

#: Optimizers whose step is not one update per gradient.
_REFUSED = {
    "LBFGS": "it evaluates the loss several times per step",
    "SparseAdam": "it needs sparse gradients",
    "ZeroRedundancyOptimizer": "another optimizer, which nobody registers, steps inside it",
}

#: Where an optimizer's state of a parameter has those of its blocks of rows.
_BLOCKS = "blocks"


class OptimizerCadence:
    """Lets a step of an optimizer update the regions that are due, and no others.

    The optimizer itself never changes: for a step, :meth:`stand_in` takes its place, with groups
    of the *leaves* that are due. A whole parameter is its own leaf, a block of rows gets one that
    shares its storage. So momentum decays per applied update, and Adam counts the steps of each
    region by itself. Parameters in no region are updated in every step, as ever.

    A region that accumulated the mean gradient of c steps is updated with the learning rate that
    :func:`~.rates.rate_at` gives.

    The state of a parameter that is divided into blocks of rows has an ordinary state for each in
    its entry ``"blocks"``; the optimizer's ``state_dict`` saves and restores it.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
        The optimizer.
    regions : Regions
        Regions; some of their parameters, or all, are the optimizer's.
    cap : float
        Highest learning rate that a cadence above 1 may reach.

    Raises
    ------
    TypeError
        If the optimizer cannot be used so; the message names it and says why. If ``cap`` is no
        number.
    ValueError
        If ``cap`` is not positive.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, regions: Regions, *, cap: float) -> None:
        check_kind(optimizer)
        kind = type(optimizer).__name__
        self._divides = any(part.rows for region in regions for part in region.slices)
        if self._divides and kind not in _ELEMENTWISE:
            raise TypeError(
                f"adagrain does not work with {kind} where regions are blocks of rows: "
                "it is not known to treat each element by itself"
            )
        if isinstance(cap, bool) or not isinstance(cap, int | float):
            raise TypeError(f"cap must be a positive number, not {cap!r}")
        if not cap > 0:
            raise ValueError(f"cap must be a positive number, not {cap!r}")
        self.optimizer = optimizer
        self._cap = float(cap)
        self._regions = len(regions)
        self._fitting: object = None
        self._leaves: dict[int, list[_Leaf]] = {}
        for number, region in enumerate(regions):
            for part in region.slices:
                self._leaves.setdefault(id(part.parameter), []).append(_Leaf(part, number))
        self._state_of_leaves()

    def stand_in(self) -> torch.optim.Optimizer:
        """An optimizer that shares all with the real one, until :meth:`fill` gives it groups."""
        made = object.__new__(type(self.optimizer))
        made.__dict__.update(self.optimizer.__dict__)
        return made

    def fill(self, stand_in: torch.optim.Optimizer, due: Mapping[int, int]) -> None:
        """Give a stand-in the groups of leaves that are due, and their state.

        Parameters
        ----------
        stand_in : torch.optim.Optimizer
            From :meth:`stand_in`.
        due : mapping
            Number of a region that is due → steps that were accumulated.
        """
        stand_in.state = self._state_of_leaves()
        self._given = []
        for group in self.optimizer.param_groups:
            for cadence, leaves in self._due_leaves(group["params"], due).items():
                made = {**group, "params": leaves, **rate_at(group, cadence, self._cap)}
                self._given.append((group, dict(made), made))
        stand_in.param_groups = [made for *_, made in self._given]

    def keep(self, stand_in: torch.optim.Optimizer) -> None:
        """Take over what a step has left in the stand-in.

        Raises
        ------
        TypeError
            If the optimizer has changed its groups, differently for regions of other cadences.
        """
        if self._divides:
            for group in self.optimizer.param_groups:
                for parameter in group["params"]:
                    self._take_over(parameter, stand_in.state)
        changes: dict[int, dict[str, Any]] = {}
        for group, given, made in self._given:
            changed = {k: v for k, v in made.items() if v is not given.get(k)}
            if changes.setdefault(id(group), changed) != changed:
                names = ", ".join(sorted(changed.keys() | changes[id(group)].keys()))
                raise TypeError(
                    f"{type(self.optimizer).__name__} keeps {names} in its parameter groups, which "
                    "differs between regions of several cadences: give each region a group"
                )
            group.update(changed)
        apart = ("param_groups", "state") if self._divides else ("param_groups",)
        own = self.optimizer.__dict__
        own.update({k: v for k, v in stand_in.__dict__.items() if k not in apart})

    def _due_leaves(
        self, parameters: Sequence[torch.Tensor], due: Mapping[int, int]
    ) -> dict[int, list[torch.Tensor]]:
        """Leaves of parameters, by the steps that they have accumulated."""
        if not self._divides and len(due) == self._regions and max(due.values()) == 1:
            return {1: [*parameters]} if parameters else {}
        found: dict[int, list[torch.Tensor]] = {}
        for parameter in parameters:
            if id(parameter) not in self._leaves:
                found.setdefault(1, []).append(parameter)
            for leaf in self._leaves.get(id(parameter), ()):
                if leaf.region in due:
                    found.setdefault(due[leaf.region], []).append(leaf.bound())
        return found

    def _state_of_leaves(self) -> defaultdict[torch.Tensor, Any]:
        """The optimizer's own state, unless parameters are divided: leaves have their own then."""
        own = self.optimizer.state
        if own is self._fitting:
            return own
        state: defaultdict[torch.Tensor, Any] = defaultdict(dict)
        for group in self.optimizer.param_groups:
            for parameter in group["params"]:
                self._restore(parameter, state)
        if self._divides:
            return state
        self._fitting = own
        return own

    def _restore(self, parameter: torch.Tensor, state: dict[torch.Tensor, Any]) -> None:
        """Give a parameter's leaves the state that the optimizer has for them."""
        found, leaves = self.optimizer.state.get(parameter), self._leaves.get(id(parameter), [])
        if not found:
            return
        blocks = found.get(_BLOCKS) if isinstance(found, dict) else None
        if (blocks is not None) != _divided(leaves) or (blocks and len(blocks) != len(leaves)):
            name = leaves[0].part.name if leaves else "a parameter in no region"
            raise ValueError(
                f"the optimizer's state of {name!r} must be that of {max(1, len(leaves))} blocks "
                f"of rows, not of {len(blocks or [0])}: it was saved with other regions, or is "
                "there before the first step, as Adagrad's"
            )
        if blocks is None:
            state[parameter] = found
        else:
            state.update({leaf.tensor: own for leaf, own in zip(leaves, blocks, strict=True)})

    def _take_over(self, parameter: torch.Tensor, state: Mapping[torch.Tensor, Any]) -> None:
        leaves = self._leaves.get(id(parameter), [])
        if not _divided(leaves):
            if parameter in state:
                self.optimizer.state[parameter] = state[parameter]
        elif any(state.get(leaf.tensor) for leaf in leaves):
            blocks = [state.get(leaf.tensor, {}) for leaf in leaves]
            self.optimizer.state[parameter] = {**_numbers(blocks), _BLOCKS: blocks}


class _Leaf:
    """Parameter that an optimizer updates for a slice."""

    def __init__(self, part: ParameterSlice, region: int) -> None:
        self.part = part
        self.region = region
        self.tensor = part.parameter
        if part.rows is not None:
            self.tensor = nn.Parameter(part.of(part.parameter.data))

    def bound(self) -> nn.Parameter:
        """The leaf, with its part of the parameter's memory and gradient of now."""
        if self.part.rows is not None:
            parameter = self.part.parameter
            self.tensor.data = self.part.of(parameter.data)
            gradient = parameter.grad
            self.tensor.grad = None if gradient is None else self.part.of(gradient)
        return self.tensor


def _divided(leaves: Sequence[_Leaf]) -> bool:
    return bool(leaves) and leaves[0].part.rows is not None


def _numbers(blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The single numbers of a state, as Adam's ``step``, which optimizers look for at loading."""
    state = next(block for block in blocks if block)
    return {k: v for k, v in state.items() if not isinstance(v, torch.Tensor) or v.dim() == 0}


def optimizers_of(optimizer: object) -> list[torch.optim.Optimizer]:
    """The optimizers that are meant: one, or several.

    Raises
    ------
    TypeError
        If something else is among them, or there is none.
    """
    several = isinstance(optimizer, Iterable)
    given = [*optimizer] if isinstance(optimizer, Iterable) else [optimizer]
    found = [own for own in given if isinstance(own, torch.optim.Optimizer)]
    if not given or len(found) < len(given):
        told = given if several else optimizer
        raise TypeError(f"optimizer must be one of torch.optim, or several, not {shortened(told)}")
    return found


def check_kind(optimizer: torch.optim.Optimizer) -> None:
    """See to it that an optimizer's step is one update per gradient.

    Raises
    ------
    TypeError
        If it is not; it is named.
    """
    kind = type(optimizer).__name__
    if kind in _REFUSED:
        raise TypeError(f"adagrain does not work with {kind}: {_REFUSED[kind]}")


def check_coverage(
    optimizers: Sequence[torch.optim.Optimizer], parameters: Mapping[str, nn.Parameter]
) -> None:
    """See to it that each parameter is in one optimizer.

    Raises
    ------
    ValueError
        If one is in none of them, or in several; it is named.
    """
    owners: dict[int, int] = {}
    for optimizer in optimizers:
        for own in {id(p) for group in optimizer.param_groups for p in group["params"]}:
            owners[own] = owners.get(own, 0) + 1
    for name, parameter in parameters.items():
        count = owners.get(id(parameter), 0)
        if count != 1:
            many = "one of the registered optimizers" if len(optimizers) > 1 else "the optimizer"
            found = "is not" if count == 0 else f"is in {count}"
            raise ValueError(f"parameter {name!r} must be in {many}, but {found}")
