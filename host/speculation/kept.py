"""State that modules keep of passes, beside buffers: given back where a pass is done again."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from torch import nn

__all__ = ["Kept", "give_back", "kept_by"]


class Kept(NamedTuple):
    """A module, and what it kept at some time."""

    module: Any
    state: Any


def kept_by(modules: Iterable[nn.Module]) -> list[Kept]:
    """States of modules that have methods ``pass_state`` and ``load_pass_state``.

    The one returns something that later passes do not change; the other takes it back.
    """
    keeping: list[Any] = [own for own in modules if hasattr(type(own), "pass_state")]
    return [Kept(own, own.pass_state()) for own in keeping]


def give_back(kept: Iterable[Kept]) -> None:
    """Have modules keep what they did."""
    for module, state in kept:
        module.load_pass_state(state)
