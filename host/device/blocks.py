"""Blocks that a unit of the codec makes: through a device's data port, where there is one."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from adagrain.host.errors import DeviceError
from adagrain.host.link.session import Request, Session
from adagrain.models.codec import CodeTable
from adagrain.models.interface.records import pack, unpack
from adagrain.models.interface.units import Unit
from adagrain.models.interface.units.code_lengths import WORD_BYTES
from adagrain.models.interface.units.ranges import Range
from adagrain.models.interface.units.tensor_input import BEAT

from .code_tables import CodeTables
from .recovery import Recovery
from .requests import parts, pass_requests

__all__ = ["Block", "Blocks", "Made"]

#: Blocks that are given at once: what is repeated after a reset, and at most 128 KiB at the port.
_GROUP = 16


class Block(NamedTuple):
    """A pass of a unit: the fields that it is announced with, and the tensor's words."""

    fields: dict[str, int]
    words: np.ndarray


class Made(NamedTuple):
    """Record of a pass, and the bytes of the block that it has made."""

    record: dict[str, int]
    raw: bytes


class Blocks:
    """Has a unit of a device's codec make blocks.

    Parameters
    ----------
    session : Session
        Commands to the device.
    recovery : Recovery
        What runs operations on it.
    tables : CodeTables
        Those that the device has.
    unit : Unit
        The unit.
    size : callable
        Bytes of the block that a pass has made, by its record.
    """

    def __init__(
        self,
        session: Session,
        recovery: Recovery,
        tables: CodeTables,
        unit: Unit,
        size: Callable[[dict[str, int]], int],
    ) -> None:
        self._session, self._recovery, self._tables = session, recovery, tables
        self._unit, self._size = unit, size

    def made(self, blocks: Sequence[Block], tables: Sequence[CodeTable | None]) -> list[Made]:
        """Pass blocks through the unit, with tables in its slots.

        Raises
        ------
        DeviceError
            If the device fails.
        """
        found: list[Made] = []
        for at in range(0, len(blocks), _GROUP):
            found += self._recovery.run(partial(self._make, blocks[at : at + _GROUP], tables))
        return found

    def _make(self, blocks: Sequence[Block], tables: Sequence[CodeTable | None]) -> list[Made]:
        """Within an operation."""
        self._tables.bring(self._unit, tables)
        by_port = self._session.transport.data_port
        return (self._by_port if by_port else self._by_link)(blocks)

    def _by_port(self, blocks: Sequence[Block]) -> list[Made]:
        """One pass behind the other, without waiting in between."""
        transport = self._session.transport
        transport.results()  # what an operation that was cut off has left
        transport.load(np.concatenate([block.words for block in blocks]))
        requests = (request for block in blocks for request in self._pass(block, data_port=True))
        records = self._records(self._session.call(requests))
        sizes = [self._size(record) for record in records]
        raw, at = transport.results().tobytes(), 0
        if (whole := sum(map(_padded, sizes))) != len(raw):
            raise DeviceError(f"the data port must bring {whole} bytes of blocks, not {len(raw)}")
        found: list[Made] = []
        for record, size in zip(records, sizes, strict=True):
            found.append(Made(record, raw[at : at + size]))
            at += _padded(size)
        return found

    def _by_link(self, blocks: Sequence[Block]) -> list[Made]:
        """Each block is read before the next pass is begun."""
        found: list[Made] = []
        for block in blocks:
            replies = self._session.call(self._pass(block, data_port=False))
            (record,) = self._records(replies)
            size = self._size(record)
            raw = b"".join(self._session.call(self._reads(-(-size // WORD_BYTES))))
            found.append(Made(record, raw[:size]))
        return found

    def _pass(self, block: Block, *, data_port: bool) -> Iterator[Request]:
        ways = {"from_link": not data_port, "to_port": data_port}
        begin = pack(self._unit.begin.request.record, **block.fields, **ways)
        words = None if data_port else block.words
        return pass_requests(self._unit, begin, words, self._session.frame_size)

    def _reads(self, words: int) -> Iterator[Request]:
        opcode = next(own.opcode for own in self._unit.operations if own.request.head is Range)
        for first, count in parts(0, words, WORD_BYTES, self._session.frame_size):
            yield Request(opcode, pack(Range, first=first, count=count))

    def _records(self, replies: Sequence[bytes]) -> list[dict[str, int]]:
        """A pass answers at its end only."""
        return [unpack(self._unit.end.reply.record, reply) for reply in replies if reply]


def _padded(size: int) -> int:
    """Bytes of a block at the data port."""
    return -(-size // BEAT) * BEAT
