"""The encoder of a device: regions there, coded blocks back."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from adagrain.host.errors import DeviceError
from adagrain.host.link.session import Request, Session
from adagrain.models.codec import CodeTable
from adagrain.models.codec.elements import Elements, Symbols
from adagrain.models.codec.encoder import encode_by
from adagrain.models.interface.codec import BLOCK
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.records import pack, unpack
from adagrain.models.interface.units import ENCODER
from adagrain.models.interface.units.encoder import (
    WORD_BYTES,
    EncoderBegin,
    EncoderOpcode,
    EncoderRecord,
)
from adagrain.models.interface.units.ranges import Range
from adagrain.models.interface.units.statistics import BINS
from adagrain.models.interface.units.tensor_input import BEAT
from adagrain.models.mask import KeepTable, masked

from .code_tables import CodeTables
from .memory import check_readable, elements_of, words_of
from .recovery import Recovery
from .requests import parts, pass_requests

__all__ = ["Encoding"]

#: Blocks that are given at once: what is repeated after a reset, and at most 128 KiB at the port.
_GROUP = 16

#: A mask that keeps all.
_ALL = KeepTable(0, (1,) * BINS)


class _Block(NamedTuple):
    """Elements of a block, and the fields of the record that begins a pass over them."""

    fields: dict[str, int]
    elements: torch.Tensor


class Encoding:
    """Has a device mask and code blocks: through its data port, where there is one, or its link.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    session : Session
        Commands to the device.
    recovery : Recovery
        What runs operations on it.
    tables : CodeTables
        Those that the device has.
    """

    def __init__(
        self,
        configuration: Configuration,
        session: Session,
        recovery: Recovery,
        tables: CodeTables,
    ) -> None:
        self._configuration, self._session = configuration, session
        self._recovery, self._tables = recovery, tables

    def encode(
        self,
        tensors: Sequence[torch.Tensor],
        exponents: Sequence[int] | None,
        tables: Sequence[CodeTable] | None,
        mantissa_bits: int | None,
        masks: Sequence[KeepTable | None] | None,
    ) -> bytes:
        """As :meth:`adagrain.host.device.codec_calls.CodecCalls.encode`."""
        self._check(tensors, masks)
        keeps = [mask or _ALL for mask in masks or [None] * len(tensors)]
        kept = [masked(x, *keep) for x, keep in zip(tensors, keeps, strict=True)]
        packing = partial(self._blocks, [*tensors], keeps)
        return encode_by(packing, kept, exponents, tables, mantissa_bits)

    def _check(
        self, tensors: Sequence[torch.Tensor], masks: Sequence[KeepTable | None] | None
    ) -> None:
        built = self._configuration
        if ENCODER not in built.built():
            raise ValueError(
                "encode needs a build with an encoder, which device preset "
                f"{built.preset!r} has not"
            )
        for x in tensors:
            check_readable(x)
        if masks is not None and len(masks) != len(tensors):
            raise ValueError(f"masks must be as many as tensors, {len(tensors)}, not {len(masks)}")

    def _blocks(
        self,
        given: Sequence[torch.Tensor],
        keeps: Sequence[KeepTable],
        elements: Elements,
        symbols: Symbols,
        tables: Sequence[CodeTable],
        slots: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Blocks of all regions, those that the device gives up as their elements are, masked."""
        self._check_format(elements.fmt.code)
        blocks = [
            _Block(
                {
                    "count": min(BLOCK, x.numel() - at),
                    "format": elements.fmt.code,
                    "slot": int(slot),
                    "mantissa_bits": symbols.mantissa_bits,
                    "exponent": int(base),
                    "mask_exponent": keep.exponent,
                    "keep": sum(int(kept) << number for number, kept in enumerate(keep.keep)),
                },
                elements_of(x)[at : at + BLOCK],
            )
            for x, keep, base, slot in zip(given, keeps, symbols.bases, slots, strict=True)
            for at in range(0, x.numel(), BLOCK)
        ]
        coded: list[bytes | None] = []
        for at in range(0, len(blocks), _GROUP):
            group = blocks[at : at + _GROUP]
            coded += self._recovery.run(partial(self._code, group, tables))
        stored = (raw for x in elements.tensors for raw in _stored(x))
        found = [raw if one is None else one for one, raw in zip(coded, stored, strict=True)]
        sizes = np.array([len(block) for block in found], dtype=np.int32)
        return np.frombuffer(b"".join(found), dtype=np.uint8), sizes

    def _code(self, blocks: Sequence[_Block], tables: Sequence[CodeTable]) -> list[bytes | None]:
        """Within an operation: what the device makes of blocks, none where it gives one up."""
        self._tables.bring(ENCODER, tables)
        by_port = self._session.transport.data_port
        return (self._by_port if by_port else self._by_link)(blocks)

    def _by_port(self, blocks: Sequence[_Block]) -> list[bytes | None]:
        """One pass behind the other, without waiting in between."""
        transport = self._session.transport
        transport.results()  # what an operation that was cut off has left
        transport.load(np.concatenate([words_of(block.elements) for block in blocks]))
        requests = (request for block in blocks for request in self._pass(block, data_port=True))
        records = _records(self._session.call(requests))
        raw, at = transport.results().tobytes(), 0
        if (whole := sum(map(_padded, records))) != len(raw):
            raise DeviceError(f"the data port must bring {whole} bytes of blocks, not {len(raw)}")
        found: list[bytes | None] = []
        for record in records:
            block = raw[at : at + record["length"]]
            found.append(None if record["given_up"] else block)
            at += _padded(record)
        return found

    def _by_link(self, blocks: Sequence[_Block]) -> list[bytes | None]:
        """Each block is read before the next one is begun."""
        found: list[bytes | None] = []
        for block in blocks:
            (record,) = _records(self._session.call(self._pass(block, data_port=False)))
            words = -(-record["length"] // WORD_BYTES)
            raw = b"".join(self._session.call(self._reads(words)))[: record["length"]]
            found.append(None if record["given_up"] else raw)
        return found

    def _pass(self, block: _Block, *, data_port: bool) -> Iterator[Request]:
        begin = pack(EncoderBegin, **block.fields, from_link=not data_port, to_port=data_port)
        words = None if data_port else words_of(block.elements)
        return pass_requests(ENCODER, begin, words, self._session.frame_size)

    def _reads(self, words: int) -> Iterator[Request]:
        for first, count in parts(0, words, WORD_BYTES, self._session.frame_size):
            yield Request(EncoderOpcode.READ, pack(Range, first=first, count=count))

    def _check_format(self, code: int) -> None:
        built = self._configuration
        if code not in built.formats:
            known = ", ".join(known.name for known in built.formats)
            raise TypeError(
                f"format must be one of {known} on device preset {built.preset!r}, not FP16"
            )


def _stored(x: torch.Tensor) -> Iterator[bytes]:
    """The elements of each block, as a frame stores them."""
    raw = x.reshape(-1).view(torch.uint8).numpy().tobytes()
    return (raw[at : at + 2 * BLOCK] for at in range(0, len(raw), 2 * BLOCK))


def _records(replies: Sequence[bytes]) -> list[dict[str, int]]:
    """A pass answers at its end only."""
    return [unpack(EncoderRecord, reply) for reply in replies if reply]


def _padded(record: dict[str, int]) -> int:
    """Bytes of a block at the data port."""
    return -(-record["length"] // BEAT) * BEAT
