"""Calls of modules in a forward pass, with what is needed to leave them out of a second one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.autograd import forward_ad
from torch.utils._pytree import TreeSpec, tree_flatten, tree_leaves, tree_unflatten

from .kept import Kept, give_back, kept_by
from .meeting import meet_in_another_order

__all__ = ["Call", "Calls", "DifferentInputsError", "may_be_kept"]

#: What outputs are kept of, in PyTorch's containers.
_KEPT = (torch.Tensor, int, float, complex, str, bytes, torch.dtype, type(None))

#: How often a tensor has been changed, and how many hooks it has.
_Mark = tuple[int, int]


class DifferentInputsError(RuntimeError):
    """A closure does something else when it is run again.

    Members
    -------
    before : list of Tensor
        Inputs of the call in which it shows, as they were.
    is_certain : bool
        Weights, and results of passes before, are not why they differ.
    """

    def __init__(
        self, name: str, number: int, before: Sequence[torch.Tensor], *, is_certain: bool
    ) -> None:
        self.before = [*before]
        self.is_certain = is_certain
        super().__init__(
            "a closure must do the same when it is run again, but the inputs of "
            f"{name!r} (call {number}) differ: it takes another batch, or "
            "draws random numbers from a generator of its own"
        )


@dataclass
class Call:
    """A module's call.

    Members
    -------
    index : int
        Number among the calls, by their beginnings.
    inputs : list of tuple
        Its tensors, with the versions that they had.
    output : tuple or None
        Whatever it returned, in parts; None before.
    outputs : list of tuple
        Tensors of the output, with versions, and numbers of hooks.
    next : int or None
        Number of the call that came behind it, those inside of it left out; ``None`` before it
        has ended.
    generator : Tensor or None
        State of torch's random numbers behind it.
    buffers : list of Tensor
        What the module's own buffers held behind it.
    kept : list of Kept
        What the module, and those inside, kept behind it.
    """

    module: nn.Module
    index: int
    inputs: list[tuple[torch.Tensor, int]]
    output: tuple[list[Any], TreeSpec] | None = None
    outputs: list[tuple[torch.Tensor, _Mark]] = field(default_factory=list)
    next: int | None = None
    generator: torch.Tensor | None = None
    buffers: list[torch.Tensor] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)


class Calls:
    """The calls of a pass, in order, and how far a run that repeats them may use their outputs.

    What happens between the calls is done again. Inputs that must be the same then are compared.
    Where those of the first call may stand on what has changed, a closure is run once more to see
    whether they differ again: this time nothing has.

    Parameters
    ----------
    names : mapping
        Names of modules.

    Members
    -------
    casts : bool
        Weights that autocast has cast for a call which is left out are cast again.
    leave_out : bool
        A call has been left out.
    """

    def __init__(self, names: Mapping[nn.Module, str]) -> None:
        self._names = names
        self._calls: dict[int, Call] = {}
        self._next = 0
        self._valid = self._same = -1
        self._suspects = False
        self._since = self._until = 0
        self.casts = self.leave_out = False

    def rewind(self, valid: int, *, same: int) -> None:
        """Begin anew; outputs of calls that had ended before some one are used again.

        Parameters
        ----------
        valid : int
            Number of that call; −1: no output is.
        same : int
            Number of the last call whose inputs must be the same; −1: even those of the first one
            may stand on what has changed.
        """
        self._next, self._valid, self._same = 0, valid, same
        self.casts = self.leave_out = False
        self._since = self._until = torch.autograd._get_sequence_nr()
        self._calls = {i: call for i, call in self._calls.items() if i <= max(same, 0)}

    def begin(self, module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
        """The next call: a new one, or one of the run before whose output is still good.

        Raises
        ------
        DifferentInputsError
            If the closure does something else than before.
        """
        index, inputs = self._next, _versions((args, kwargs))
        known = self._calls.get(index)
        if known is not None:
            self._check(known, module, inputs)
            if self._is_good(known):
                return known
        self._next += 1
        call = self._calls[index] = Call(module, index, inputs)
        return call

    def end(self, call: Call, output: Any) -> None:
        """A new call has returned. Objects that a script may change are not kept."""
        parts, structure = tree_flatten(output)
        if not all(isinstance(own, _KEPT) for own in parts):
            return
        call.output, call.outputs, call.next = (parts, structure), _marks(output), self._next
        call.generator = torch.get_rng_state()
        call.buffers = [buffer.clone() for buffer in call.module.buffers()]
        call.kept = kept_by(call.module.modules())

    def again(self, call: Call) -> Any:
        """The output of a call that is good, with all that it left behind."""
        assert call.next is not None and call.generator is not None and call.output is not None
        self._next, self.leave_out = call.next, True
        self._until = torch.autograd._get_sequence_nr()
        torch.set_rng_state(call.generator)
        for buffer, after in zip(call.module.buffers(), call.buffers, strict=True):
            buffer.data.copy_(after)  # behind autograd's back: the graph of the call stays valid
        give_back(call.kept)
        return tree_unflatten(*call.output)  # containers of its own: a script may have changed them

    def change_order(self, loss: torch.Tensor) -> bool:
        """True if gradients of a loss may be added up in another order than in a single run."""
        if self.casts or self._until == self._since:
            return self.casts
        return meet_in_another_order(loss, self._since, self._until)

    def _is_good(self, call: Call) -> bool:
        """True if it had ended before anything was void, and its output was not changed since."""
        if call.next is None or call.next > self._valid:
            return False
        if any(_mark(tensor) != mark for tensor, mark in call.outputs):
            self._valid = call.index  # what follows belongs to the output as it was
            return False
        return True

    def _check(
        self, known: Call, module: nn.Module, inputs: Sequence[tuple[torch.Tensor, int]]
    ) -> None:
        must_be_same = known.index <= self._same
        rows = zip(known.inputs, inputs, strict=False)
        same = known.module is module and len(known.inputs) == len(inputs)
        if same and all(
            _is_same(*before, now)
            for before, (now, _) in rows
            if must_be_same or not (before[0].requires_grad or now.requires_grad)
        ):
            return
        is_certain = must_be_same or self._suspects
        if not is_certain:
            self._suspects = True
            self._calls[known.index] = Call(module, known.index, [*inputs])
        before = [tensor for tensor, _ in known.inputs]
        raise DifferentInputsError(self._names[module], known.index, before, is_certain=is_certain)


def may_be_kept() -> bool:
    """True unless what is computed now stands on something outside of it that will be gone."""
    hooks = torch._C._autograd._top_saved_tensors_default_hooks(True)  # as in a checkpoint
    return hooks is None and forward_ad._current_level < 0


def _versions(tree: Any) -> list[tuple[torch.Tensor, int]]:
    return [(own, own._version) for own in _tensors(tree)]


def _marks(tree: Any) -> list[tuple[torch.Tensor, _Mark]]:
    return [(own, _mark(own)) for own in _tensors(tree)]


def _mark(own: torch.Tensor) -> _Mark:
    return own._version, len(own._backward_hooks or ())


def _tensors(tree: Any) -> list[torch.Tensor]:
    """Tensors in a tree that count how often they are changed."""
    return [o for o in tree_leaves(tree) if isinstance(o, torch.Tensor) and not o.is_inference()]


def _is_same(before: torch.Tensor, version: int, now: torch.Tensor) -> bool:
    """True unless it is known that they differ.

    It is not known of one that was changed since, nor of sparse, nested and other tensors that
    are not dense, which PyTorch cannot compare element by element.
    """
    if before is now or before._version != version or not (_is_dense(before) and _is_dense(now)):
        return True
    if before.shape != now.shape or before.dtype != now.dtype:
        return False
    if before.is_complex():
        before, now = (torch.view_as_real(own.resolve_conj()) for own in (before, now))
    if not before.is_floating_point():
        return torch.equal(before, now)
    return torch.allclose(before, now, rtol=0, atol=0, equal_nan=True)


def _is_dense(own: torch.Tensor) -> bool:
    """True if it has memory for each element of its shape."""
    return own.layout is torch.strided and not (own.is_nested or own.is_meta)
