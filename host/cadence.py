"""An optimizer whose regions are updated each at its own cadence."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from .regions import Regions, Slice

__all__ = ["CadenceOptimizer"]

#: Optimizers that treat each element by itself, so that blocks of rows may be updated alone.
_ELEMENTWISE = {
    "SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop", "Rprop",
    "ASGD",
}  # fmt: skip

#: Optimizers whose step is not one update per gradient.
_REFUSED = {
    "LBFGS": "it evaluates the loss several times per step",
    "SparseAdam": "it needs sparse gradients",
}


class CadenceOptimizer:
    """Wraps an optimizer, so that one step updates only the regions that are due.

    The wrapped optimizer keeps its ``param_groups``, and learning-rate schedulers are made for it
    as ever. For the time of a step it is given groups of *leaves*: a whole parameter is its own
    leaf, a block of rows gets one that shares its storage. So momentum decays per applied
    update, and Adam counts the steps of each region by itself.

    A region that accumulated the mean gradient of c steps is updated with the learning rate
    ``lr · min(c, max(1, cap / lr))``: c steps' worth, up to the rate ``cap``. (Multirate training,
    Vlaar and Leimkuhler 2022, without a cap, diverges at high rates.)

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
        The optimizer, constructed on the same parameters.
    regions : Regions
        Its regions. Parameters of the optimizer that are in no region are frozen.
    cap : float
        Highest learning rate that a cadence above 1 may reach.

    Raises
    ------
    TypeError
        If the optimizer cannot be used so; the message names it and says why.
    ValueError
        If ``cap`` is not positive, or a region's parameter is not in the optimizer.
    """

    def __init__(
        self, optimizer: torch.optim.Optimizer, regions: Regions, *, cap: float = 0.2
    ) -> None:
        kind = type(optimizer).__name__
        if kind in _REFUSED:
            raise TypeError(f"CadenceOptimizer cannot wrap {kind}: {_REFUSED[kind]}")
        if any(part.rows for r in regions for part in r.slices) and kind not in _ELEMENTWISE:
            raise TypeError(
                f"CadenceOptimizer cannot wrap {kind} where regions are blocks of rows: "
                "it is not known to treat each element by itself"
            )
        if cap <= 0:
            raise ValueError(f"cap must be positive, not {cap!r}")
        self.optimizer = optimizer
        self.regions = regions
        self._cap = cap
        self._due: Mapping[int, int] = dict.fromkeys(range(len(regions)), 1)
        self._leaves = [[_leaf(part) for part in region.slices] for region in regions]
        self._groups = self._leaf_groups()

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """Those of the wrapped optimizer."""
        return self.optimizer.param_groups

    @property
    def state(self) -> Any:
        """That of the wrapped optimizer, by leaf."""
        return self.optimizer.state

    @property
    def defaults(self) -> dict[str, Any]:
        """Those of the wrapped optimizer."""
        return self.optimizer.defaults

    @property
    def _step_supports_amp_scaling(self) -> bool:
        raise TypeError(
            "CadenceOptimizer does not work with GradScaler: accumulated gradients would mix "
            "scales, and workers skip different steps; use bfloat16 autocast, which needs none"
        )

    def set_due(self, due: Mapping[int, int]) -> None:
        """Say which regions the next step updates: number → steps that were accumulated."""
        self._due = dict(due)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """As that of the wrapped optimizer."""
        self.optimizer.zero_grad(set_to_none=set_to_none)

    def clip_grad_norm_(self, max_norm: float) -> torch.Tensor:
        """Clip the joint 2-norm of the averaged gradients of the regions that are due.

        Gradients of other regions neither count nor change. To be called between the backward
        pass and :meth:`step`. At cadence 1 it equals :func:`torch.nn.utils.clip_grad_norm_`.
        """
        leaves = [leaf for group in self._groups for leaf, number in group if number in self._due]
        self._bind()
        return nn.utils.clip_grad_norm_(leaves, max_norm)

    def step(self, closure: None = None) -> None:
        """Update the regions that are due.

        Raises
        ------
        TypeError
            If there is a closure: a second evaluation would not be averaged over the workers.
        """
        if closure is not None:
            raise TypeError("step must be called without a closure, not with one")
        self._bind()
        with self._as_groups(self._due_groups()):
            self.optimizer.step()

    def state_dict(self) -> dict[str, Any]:
        """State of the wrapped optimizer, leaf by leaf."""
        with self._as_groups(self._all_groups()):
            return self.optimizer.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what :meth:`state_dict` gave."""
        with self._as_groups(self._all_groups()) as groups:
            self.optimizer.load_state_dict(state)
            loaded = self.optimizer.param_groups
        for group, new in zip(groups, loaded, strict=True):
            group.update({key: value for key, value in new.items() if key != "params"})

    def _leaf_groups(self) -> list[list[tuple[nn.Parameter, int]]]:
        """For each group of the optimizer, its leaves and their regions, in its own order."""
        by_parameter: dict[int, list[tuple[nn.Parameter, int]]] = {}
        for number, region in enumerate(self.regions):
            for part, leaf in zip(region.slices, self._leaves[number], strict=True):
                by_parameter.setdefault(id(part.parameter), []).append((leaf, number))
        groups = [
            [entry for p in group["params"] for entry in by_parameter.get(id(p), [])]
            for group in self.optimizer.param_groups
        ]
        known = {id(leaf) for group in groups for leaf, _ in group}
        for region, leaves in zip(self.regions, self._leaves, strict=True):
            for part, leaf in zip(region.slices, leaves, strict=True):
                if id(leaf) not in known:
                    raise ValueError(
                        f"parameter {part.name!r} must be in the optimizer, but is not"
                    )
        return groups

    def _bind(self) -> None:
        """Give the leaves of row blocks their part of the parameter's gradient."""
        for region, leaves in zip(self.regions, self._leaves, strict=True):
            for part, leaf in zip(region.slices, leaves, strict=True):
                if leaf is not part.parameter:
                    gradient = part.parameter.grad
                    leaf.grad = None if gradient is None else part.of(gradient)

    def _due_groups(self) -> list[dict[str, Any]]:
        made = []
        for group, entries in zip(self.optimizer.param_groups, self._groups, strict=True):
            by_cadence: dict[int, list[nn.Parameter]] = {}
            for leaf, number in entries:
                if number in self._due:
                    by_cadence.setdefault(self._due[number], []).append(leaf)
            made += [
                {**group, "params": leaves, "lr": self._rate(group["lr"], cadence)}
                for cadence, leaves in by_cadence.items()
            ]
        return made

    def _all_groups(self) -> list[dict[str, Any]]:
        return [
            {**group, "params": [leaf for leaf, _ in entries]}
            for group, entries in zip(self.optimizer.param_groups, self._groups, strict=True)
        ]

    def _rate(self, rate: Any, cadence: int) -> Any:
        if cadence == 1 or float(rate) == 0:
            return rate
        return rate * min(cadence, max(1.0, self._cap / float(rate)))

    @contextmanager
    def _as_groups(self, groups: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
        kept = self.optimizer.param_groups
        self.optimizer.param_groups = groups
        try:
            yield kept
        finally:
            self.optimizer.param_groups = kept


def _leaf(part: Slice) -> nn.Parameter:
    if part.rows is None:
        return part.parameter
    return nn.Parameter(part.of(part.parameter.data))
