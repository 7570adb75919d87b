"""Base of the golden models of units' tables."""

from collections.abc import Iterable, Mapping
from typing import Protocol, Self

__all__ = ["GoldenTable"]


class GoldenTable(Protocol):
    """Golden model of a unit's table, as :class:`~adagrain.models.interface.units.Table` has it.

    It is made from the number of its entries, which are all 0 at first. Items are those of the
    requests that write and read.

    Members
    -------
    settings : bytes
        What holds for all entries, as a record; empty where nothing does.
    """

    settings: bytes

    def copy(self) -> Self:
        """Another table, with the same entries and settings."""

    def write(self, first: int, raw: bytes) -> None:
        """Overwrite items from one on."""

    def read(self, first: int, count: int) -> bytes:
        """So many items from one on."""

    def step(self, head: bytes, updates: bytes) -> bytes:
        """Take updates into account that follow each other; the decisions, one behind the other."""

    def decide(
        self, head: Mapping[str, int], updates: Iterable[Mapping[str, int]]
    ) -> list[dict[str, int]]:
        """As :meth:`step`, of all fields of the records, by name and in their order."""
