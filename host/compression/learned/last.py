"""Result for some shares, kept as long as it holds: most passes have the shares of the last."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from adagrain.host.compression.layout import Key

__all__ = ["Last"]

T = TypeVar("T")


class Last(Generic[T]):
    """Keeps what was made last.

    Parameters
    ----------
    make : callable
        Makes it for some shares; the same as long as :meth:`forget` is not called.
    """

    def __init__(self, make: Callable[[Sequence[Key]], T]) -> None:
        self._make = make
        self._made: tuple[Sequence[Key], T] | None = None

    def of(self, keys: Sequence[Key]) -> T:
        """That of these shares."""
        if self._made is None or self._made[0] != keys:
            self._made = keys, self._make(keys)
        return self._made[1]

    def forget(self) -> None:
        """Forget it: it holds no longer."""
        self._made = None
