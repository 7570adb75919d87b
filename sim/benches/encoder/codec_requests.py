"""Random requests for a unit of the codec: what encoder and decoder have in common."""

import enum
import random

from amaranth.lib import data

from adagrain.models.interface.codec import ESCAPE, SLOTS, SYMBOLS
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.records import pack, size
from adagrain.models.interface.units.code_lengths import (
    WORD_BYTES,
    CodeLengths,
    packed_lengths,
)
from adagrain.models.interface.units.ranges import Range
from adagrain.sim.benches.requests import Kinds, Request
from adagrain.sim.benches.tensor_input.requests import PassRequests

from .traffic import random_table

__all__ = ["CodecRequests"]


class CodecRequests(PassRequests):
    """Tables, passes by them, and reads of the blocks that they make."""

    def __init__(
        self, configuration: Configuration, generator: random.Random, longest: int = 300
    ) -> None:
        super().__init__(configuration, generator, longest)
        self._tables = [random_table(generator) for _ in range(SLOTS)]
        self._words = 0  # of the block that was made last

    def prologue(self) -> list[Request]:
        """A pass and a read before there is a table, the tables, and passes that cannot be."""
        early, _ = self._tensor(from_link=1)
        tables = [self._load(slot, table.lengths) for slot, table in enumerate(self._tables)]
        before = [Request(self.unit.begin.opcode, early), self._read(0, 1)]
        return [*before, *tables, *self._impossible()]

    def kinds(self) -> Kinds:
        return {**super().kinds(), self._replace: 0.4, self._unsound: 0.2}

    def wild(self) -> list[Request]:
        """A pass with any fields, and any lengths."""
        begin, lengths = self.unit.begin, self._random.randbytes(size(CodeLengths))
        return [
            Request(begin.opcode, self._random.randbytes(begin.request.head_size)),
            Request(self._opcode(CodeLengths), lengths),
        ]

    def _unsound(self) -> list[Request]:
        """A pass that cannot be."""
        return [self._random.choice(self._impossible())]

    def _impossible(self) -> list[Request]:
        """Begins of passes that cannot be, one for each reason."""
        raise NotImplementedError

    def _replace(self) -> list[Request]:
        """Another table, or lengths that are none."""
        slot, table = self._random.randrange(SLOTS), random_table(self._random)
        if self._random.random() < 0.5:
            return [self._load(slot, self._wrong(table.lengths))]
        self._tables[slot] = table
        return [self._load(slot, table.lengths)]

    def _wrong(self, lengths: bytes) -> bytes:
        """Lengths of no whole code, or of one whose escape is shorter than its longest code."""
        wrong = bytearray(lengths)
        shorter = [s for s, length in enumerate(wrong) if 0 < length < wrong[ESCAPE]]
        if shorter and self._random.random() < 0.7:
            symbol = self._random.choice(shorter)
            if self._random.random() < 0.5:
                wrong[symbol], wrong[ESCAPE] = wrong[ESCAPE], wrong[symbol]
            else:
                wrong[symbol] += 1  # leaves codes over
            return bytes(wrong)
        symbol = self._random.choice([0, ESCAPE, self._random.randrange(SYMBOLS)])
        wrong[symbol] = (wrong[symbol] + self._random.choice([1, 2, 4, 15])) % 16
        return bytes(wrong)

    def _other(self) -> list[Request]:
        """Now and then a table, or a read, while a pass is under way."""
        if self._random.random() < 0.8:
            return super()._other()
        return [self._load(0, self._tables[0].lengths), self._read(0, 1)]

    def _after(self) -> list[Request]:
        """Words from anywhere, all that fit a reply, and such as there are not."""
        room, first = self._configuration.payload // WORD_BYTES, 0
        if not self._words and self._random.random() < 0.7:
            return []
        if self._random.random() < 0.5:
            first = self._random.randrange(self._words + 1)
        count = min(self._words - first, room, 0xFF) + self._random.choice([0, 0, 0, 0, 1, -1])
        return [self._read(first, min(max(count, 0), 0xFF))]

    def _load(self, slot: int, lengths: bytes) -> Request:
        """Request that puts code lengths into a slot."""
        return Request(self._opcode(CodeLengths), packed_lengths(slot, lengths))

    def _read(self, first: int, count: int) -> Request:
        return Request(self._opcode(Range), pack(Range, first=first, count=count))

    def _opcode(self, layout: data.StructLayout) -> enum.IntEnum:
        """That of the request which begins with such a record."""
        return next(own.opcode for own in self.unit.operations if own.request.head is layout)
