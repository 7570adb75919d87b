"""A register of a unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adagrain.models.interface.configuration import Configuration

__all__ = ["Register"]


@dataclass(frozen=True)
class Register:
    """A number that the host may read.

    Parameters
    ----------
    name : str
        By which the unit's gateware drives it, and the host names it.
    about : str
        What it tells, with its unit.
    bits : int
        32, or 64: then its lower and its upper half are two words that follow each other.
    constant : callable or None
        Its value in a build of a configuration, where that is all it depends on.
    clocked : bool
        Counts clock cycles, which a golden model does not have: there it reads 0.
    sums : str
        Field of the unit's record which it adds up over all passes that have ended, if it does.

    Raises
    ------
    ValueError
        If it has another number of bits.
    """

    name: str
    about: str
    bits: int = 32
    constant: Callable[[Configuration], int] | None = None
    clocked: bool = False
    sums: str = ""

    def __post_init__(self) -> None:
        if self.bits not in (32, 64):
            raise ValueError(f"register {self.name} must have 32 or 64 bits, not {self.bits}")

    @property
    def words(self) -> int:
        """Words of 32 bits."""
        return self.bits // 32
