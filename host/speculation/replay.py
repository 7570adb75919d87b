"""The optimizers' options as they stand at a step, and updates that use them later."""

from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from adagrain.host.distributed.rates import rate_at

from .own_attributes import OwnAttributes
from .unchanged import Unchanged

__all__ = ["Replay"]

_Leaves = Mapping[nn.Parameter, nn.Parameter]


class Replay:
    """Steps of the true optimizers, on some parameters, with the options of one moment.

    An update is applied after schedulers have gone on: it takes the rates that its step has seen.
    Another object of the optimizer's class stands in for it, whose groups have the parameters that
    are updated. It shares the state for the true update; for a guess it has a copy.

    Parameters
    ----------
    optimizers : sequence of torch.optim.Optimizer
        The true ones.
    cadences : mapping
        Steps that were accumulated, by parameter that may be updated.
    cap : float
        As in :class:`~.options.SpeculationOptions`.
    unchanged : Unchanged
        Knows whether others have changed parameters.
    """

    def __init__(
        self,
        optimizers: Sequence[torch.optim.Optimizer],
        cadences: Mapping[nn.Parameter, int],
        cap: float,
        unchanged: Unchanged,
    ) -> None:
        self._unchanged = unchanged
        self._optimizers = optimizers
        self._cadences = cadences
        self._cap = cap
        self._groups = [[*map(_copied, own.param_groups)] for own in optimizers]

    def update(self, parameters: Sequence[nn.Parameter]) -> None:
        """Update parameters from their gradients.

        Raises
        ------
        TypeError
            If an optimizer keeps something in its groups, or in attributes of its own.
        RuntimeError
            If somebody else has changed a parameter.
        """
        self._unchanged.check(parameters)
        leaves = {parameter: parameter for parameter in parameters}
        for optimizer, groups in self._chosen(leaves):
            stand_in = _stand_in(optimizer, groups)
            _step(optimizer, stand_in)
            _check_unchanged(stand_in, groups)
        self._unchanged.updated(parameters)

    def guess(self, leaves: _Leaves, state: dict[torch.Tensor, Any]) -> None:
        """Update guesses from their gradients; hooks on the optimizers are not called.

        Parameters
        ----------
        leaves : mapping
            Parameter → the leaf that has its guess.
        state : dict
            Leaf → what earlier guesses have made of the optimizer's state of its parameter, and
            what this one makes of it; where there is none, it goes out from the true state.

        Raises
        ------
        TypeError
            If an optimizer keeps something in attributes of its own.
        """
        for optimizer, groups in self._chosen(leaves):
            stand_in = _stand_in(optimizer, groups)
            for parameter, leaf in leaves.items():
                if leaf not in state and parameter in optimizer.state:
                    state[leaf] = _copied(optimizer.state[parameter])
            stand_in.state = defaultdict(dict, state)
            stand_in._optimizer_step_pre_hooks = OrderedDict()
            stand_in._optimizer_step_post_hooks = OrderedDict()
            _step(optimizer, stand_in)
            state.update(stand_in.state)

    def _chosen(self, leaves: _Leaves) -> list[tuple[torch.optim.Optimizer, list[dict[str, Any]]]]:
        """Optimizers that have some of the parameters, with groups of their leaves."""
        found = []
        for optimizer, groups in zip(self._optimizers, self._groups, strict=True):
            chosen = [part for group in groups for part in self._parts(group, leaves)]
            found.append((optimizer, chosen))
        return [(optimizer, groups) for optimizer, groups in found if groups]

    def _parts(self, group: Mapping[str, Any], leaves: _Leaves) -> list[dict[str, Any]]:
        """A group's leaves, by the steps that they have accumulated."""
        members: dict[int, list[nn.Parameter]] = {}
        for parameter in group["params"]:
            if parameter in leaves:
                members.setdefault(self._cadences[parameter], []).append(leaves[parameter])
        return [
            {**group, "params": own, **rate_at(group, cadence, self._cap)}
            for cadence, own in members.items()
        ]


def _stand_in(
    optimizer: torch.optim.Optimizer, groups: Sequence[dict[str, Any]]
) -> torch.optim.Optimizer:
    """An object whose class steps it; in the optimizer itself, schedulers put a step of theirs."""
    made = object.__new__(type(optimizer))
    made.__dict__.update(optimizer.__dict__)
    made.param_groups = [dict(group) for group in groups]
    return made


def _step(optimizer: torch.optim.Optimizer, stand_in: torch.optim.Optimizer) -> None:
    before = OwnAttributes(stand_in)
    type(optimizer).step(stand_in)
    before.check()


def _copied(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a group, or the state of a parameter, with tensors of their own."""
    return {
        name: value.clone() if isinstance(value, torch.Tensor) else value
        for name, value in options.items()
    }


def _check_unchanged(stand_in: torch.optim.Optimizer, given: Sequence[dict[str, Any]]) -> None:
    for now, before in zip(stand_in.param_groups, given, strict=True):
        for name, value in now.items():
            if value is not before.get(name):
                raise TypeError(
                    f"adagrain cannot speculate with {type(stand_in).__name__}: it keeps {name!r} "
                    "in its parameter groups, but updates come in parts"
                )
