"""Random requests to units: what is common to all; those of each are beside its bench."""

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.records import pack
from adagrain.models.interface.units.ranges import Range

__all__ = ["Kinds", "Request", "Requests"]


@dataclass(frozen=True)
class Request:
    """One request and what it makes the data port offer."""

    opcode: int
    payload: bytes = b""
    port: bytes = b""

    def words(self) -> np.ndarray:
        """The port's bytes as 32-bit words."""
        return np.frombuffer(self.port, dtype=np.uint32)


#: What makes requests that follow each other, and how often it is asked for some.
Kinds = dict[Callable[[], list[Request]], float]


class Requests:
    """Makes requests for one unit.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    generator : random.Random
        Source of all choices.
    longest : int
        Most elements of a tensor.
    """

    def __init__(
        self, configuration: Configuration, generator: random.Random, longest: int = 300
    ) -> None:
        self._configuration, self._random, self._longest = configuration, generator, longest

    def prologue(self) -> list[Request]:
        """The requests that a host sends first."""
        return []

    def kinds(self) -> Kinds:
        """The requests that it may send then."""
        return {}

    def long(self) -> list[Request]:
        """Requests that take the device many cycles."""
        return []

    def wild(self) -> list[Request]:
        """Requests, one of which may be sent, whose fields hold anything."""
        return []

    def tamed(self, opcode: int, payload: bytes) -> bytes:
        """A random payload, changed where it would keep the device busy for longer than a test."""
        return payload

    def _entries(self, width: int, few: int) -> int:
        """A number of entries to read: a few, what just fills the payload, or one more."""
        room = min(self._configuration.payload // width, 254)
        return self._random.choice(
            [self._random.randrange(few), self._random.randrange(few), room, room + 1]
        )

    def _range(self, items: int, width: int, few: int) -> bytes:
        """Some entries of a table: from anywhere, to its end, or to one before or after that."""
        count = self._entries(width, few)
        ends = [items - 1, items, items + 1]
        first = self._random.choice([self._random.randrange(items), *(end - count for end in ends)])
        return pack(Range, first=max(first, 0), count=count)
