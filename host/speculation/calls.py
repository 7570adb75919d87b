"""Calls of modules in a forward pass, with what is needed to leave them out of a second one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

__all__ = ["Call", "Calls"]


@dataclass
class Call:
    """A module's call.

    Members
    -------
    index : int
        Number among the calls, by their beginnings.
    inputs : list of tuple
        Its tensors, with the versions that they had.
    output : object
        Whatever it returned; None before.
    outputs : list of tuple
        Tensors of the output, likewise.
    next : int or None
        Number of the call that came behind it, those inside of it left out; ``None`` before it
        has ended.
    generator : Tensor or None
        State of torch's random numbers behind it.
    buffers : list of Tensor
        What the module's own buffers held behind it.
    """

    module: nn.Module
    index: int
    inputs: list[tuple[torch.Tensor, int]]
    output: Any = None
    outputs: list[tuple[torch.Tensor, int]] = field(default_factory=list)
    next: int | None = None
    generator: torch.Tensor | None = None
    buffers: list[torch.Tensor] = field(default_factory=list)


class Calls:
    """The calls of a pass, in order, and how far a run that repeats them may use their outputs.

    What happens between the calls is done again. Where its results, which are equal, meet a call
    that is left out, the gradient has to come back by way of that call alone: if it reaches them
    by another way, too, it is added up in another order, and no longer equal to the bit.

    Parameters
    ----------
    names : mapping
        Names of modules.

    Members
    -------
    branched : bool
        A gradient has come back by another way, or would meet others elsewhere.
    """

    def __init__(self, names: Mapping[nn.Module, str]) -> None:
        self._names = names
        self._calls: dict[int, Call] = {}
        self._next = 0
        self._valid = -1
        self.branched = False

    def rewind(self, valid: int) -> None:
        """Begin anew; outputs of calls that had ended before that one are used again.

        Parameters
        ----------
        valid : int
            Number of the first call that is void; −1: nothing stays, not even the inputs.
        """
        self._next, self._valid, self.branched = 0, valid, False
        self._calls = {index: call for index, call in self._calls.items() if index <= valid}

    def begin(self, module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
        """The next call: a new one, or one of the run before whose output is still good.

        Raises
        ------
        RuntimeError
            If the closure does something else than before.
        """
        index, inputs = self._next, _versions((args, kwargs))
        known = self._calls.get(index)
        if known is not None:
            self._check(known, module, inputs)
            if self._is_good(known):
                self._watch(known, inputs)
                return known
        self._next += 1
        call = self._calls[index] = Call(module, index, inputs)
        return call

    def end(self, call: Call, output: Any) -> None:
        """A new call has returned."""
        call.output, call.outputs, call.next = output, _versions(output), self._next
        call.generator = torch.get_rng_state()
        call.buffers = [buffer.clone() for buffer in call.module.buffers()]

    def again(self, call: Call) -> Any:
        """The output of a call that is good, with all that it left behind."""
        assert call.next is not None and call.generator is not None
        self._next = call.next
        torch.set_rng_state(call.generator)
        for buffer, after in zip(call.module.buffers(), call.buffers, strict=True):
            buffer.data.copy_(after)  # behind autograd's back: the graph of the call stays valid
        return call.output

    def _is_good(self, call: Call) -> bool:
        """True if it had ended before anything was void, and its output was not changed since."""
        if call.next is None or call.next > self._valid:
            return False
        if any(tensor._version != version for tensor, version in call.outputs):
            self._valid = call.index  # what follows belongs to the output as it was
            return False
        return True

    def _watch(self, call: Call, inputs: Sequence[tuple[torch.Tensor, int]]) -> None:
        """Look out for gradients that reach the inputs of a call which is left out."""
        for (before, _), (now, _) in zip(call.inputs, inputs, strict=True):
            if now is not before and now.requires_grad:
                now.register_hook(self._reached)

    def _reached(self, _: torch.Tensor) -> None:
        self.branched = True

    def _check(
        self, known: Call, module: nn.Module, inputs: Sequence[tuple[torch.Tensor, int]]
    ) -> None:
        rows = zip(known.inputs, inputs, strict=False)
        same = known.module is module and len(known.inputs) == len(inputs)
        if not same or not all(_is_same(*before, now) for before, (now, _) in rows):
            raise RuntimeError(
                "a closure must do the same when it is run again, but the inputs of "
                f"{self._names[module]!r} (call {known.index}) differ: it takes another batch, or "
                "draws random numbers from a generator of its own"
            )


def _versions(tree: Any) -> list[tuple[torch.Tensor, int]]:
    return [(own, own._version) for own in tree_leaves(tree) if isinstance(own, torch.Tensor)]


def _is_same(before: torch.Tensor, version: int, now: torch.Tensor) -> bool:
    """True unless it is known that they differ: one that was changed since is not known."""
    if before is now or before._version != version:
        return True
    if before.shape != now.shape or before.dtype != now.dtype:
        return False
    if not before.is_floating_point():
        return torch.equal(before, now)
    return torch.allclose(before, now, rtol=0, atol=0, equal_nan=True)
