"""Coded blocks for the decoder, sound and damaged, and what the golden decoder makes of them."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch

from adagrain.hdl.codec import Decoder
from adagrain.hdl.codec.layouts import CODED_BYTES
from adagrain.models.codec import (
    CodeTable,
    coded_blocks,
    decoded_block,
)
from adagrain.models.interface.codec import (
    BLOCK,
    CODED_FORMATS,
    LONGEST_CODE,
    SLOTS,
    BlockOutcome,
)
from adagrain.models.interface.formats import FORMATS, ElementFormat, FormatCode
from adagrain.sim.benches.encoder.traffic import random_region as random_masked
from adagrain.sim.benches.encoder.traffic import random_table
from adagrain.sim.simulators.stimulus import Columns, Stimulus

__all__ = [
    "Region",
    "coded_region",
    "entries",
    "random_region",
    "random_regions",
    "regions",
    "short_regions",
]

#: Bytes of the longest block that a device can be told of.
_LONGEST = 2 * BLOCK - 1

#: Short regions between two pairs of tables.
_TOGETHER = 500


class Region(NamedTuple):
    """A region as a device gets it: how it is coded, and its blocks.

    Members
    -------
    blocks : list of (bytes, int)
        The bytes of each, and its elements.
    """

    fmt: ElementFormat
    exponent: int
    mantissa_bits: int
    slot: int
    blocks: list[tuple[bytes, int]]


def random_regions(
    unit: Decoder, count: int, generator: Random, damage: float
) -> Iterator[Stimulus]:
    """So many times some regions; meanwhile the table in the slot that they do not use is replaced.

    Parameters
    ----------
    damage : float
        Chance of each block that its bytes are not what an encoder makes.
    """
    tables = [random_table(generator) for _ in range(SLOTS)]
    yield Stimulus({"i_table": entries(tables[0], 0)})
    yield Stimulus({"i_table": entries(tables[1], 1)})
    for _ in range(count):
        kept = generator.randrange(SLOTS)
        some = [
            random_region(tables, kept, generator, damage) for _ in range(generator.randrange(1, 6))
        ]
        given = regions(unit, some, tables, generator)
        tables[1 - kept] = random_table(generator)
        replaced = {"i_table": entries(tables[1 - kept], 1 - kept)}
        yield Stimulus({**given.inputs, **replaced}, given.outputs)
        both = [
            random_region(tables, generator.randrange(SLOTS), generator, damage) for _ in range(4)
        ]
        yield regions(unit, both, tables, generator)


def short_regions(unit: Decoder, count: int, generator: Random) -> Iterator[Stimulus]:
    """So many regions of one short block each, all damaged, some hundreds at a time."""
    for _ in range(0, count, _TOGETHER):
        tables = [random_table(generator) for _ in range(SLOTS)]
        for slot, table in enumerate(tables):
            yield Stimulus({"i_table": entries(table, slot)})
        some = [_short_region(tables, generator) for _ in range(_TOGETHER)]
        yield regions(unit, some, tables, generator)


def _short_region(tables: Sequence[CodeTable], generator: Random) -> Region:
    """Up to 32 elements, whose bytes are not what an encoder makes of them."""
    slot = generator.randrange(SLOTS)
    whole = random_masked(generator, slot)
    short = whole._replace(tensor=whole.tensor[: generator.randrange(1, 33)])
    region = coded_region(*short, tables[slot])
    ((raw, elements),) = region.blocks
    return region._replace(blocks=[(_damaged(raw, elements, generator), elements)])


def random_region(
    tables: Sequence[CodeTable], slot: int, generator: Random, damage: float
) -> Region:
    """A region of either format, short or of some blocks, dense or sparse, with any bytes."""
    region = coded_region(*random_masked(generator, slot), tables[slot])
    blocks = [
        (_damaged(raw, count, generator) if generator.random() < damage else raw, count)
        for raw, count in region.blocks
    ]
    *_, (raw, count) = blocks
    if count > 1 and generator.random() < damage:  # the last element is one too many
        blocks[-1] = raw, count - 1
    return region._replace(blocks=blocks)


def coded_region(
    tensor: torch.Tensor, exponent: int, mantissa_bits: int, slot: int, table: CodeTable
) -> Region:
    """A tensor's blocks; all +0 is what stands for those that are not coded."""
    found = coded_blocks(tensor, exponent, table, mantissa_bits)
    counts = [min(BLOCK, tensor.numel() - at) for at in range(0, tensor.numel(), BLOCK)]
    fmt = next(FORMATS[code] for code in CODED_FORMATS if FORMATS[code].dtype == tensor.dtype)
    blocks = [(raw or b"", count) for raw, count in zip(found, counts, strict=True)]
    return Region(fmt, exponent, mantissa_bits, slot, blocks)


def _damaged(raw: bytes, count: int, generator: Random) -> bytes:
    """Other bytes, as many or not."""
    match generator.randrange(6):
        case 0:  # cut
            return raw[: generator.randrange(len(raw) + 1)]
        case 1:  # a few bits
            bad = bytearray(raw or b"\0")
            for _ in range(generator.randrange(1, 4)):
                bad[generator.randrange(len(bad))] ^= 1 << generator.randrange(8)
            return bytes(bad)
        case 2:  # something behind the end
            return (raw + generator.randbytes(generator.randrange(1, 20)))[:_LONGEST]
        case 3:  # one byte again and again
            return bytes([generator.randrange(256)]) * generator.randrange(2 * count)
        case 4:  # as long as a block may be
            return (raw + generator.randbytes(2 * count))[: 2 * count - 1]
        case _:  # anything
            most = generator.choice([8, 2 * count - 1, min(4 * count, _LONGEST)])
            return generator.randbytes(generator.randrange(most + 1))


def regions(
    unit: Decoder, some: Sequence[Region], tables: Sequence[CodeTable], generator: Random
) -> Stimulus:
    """Regions behind each other, by the tables in both slots, and the golden decoder's elements."""
    begins: list[Any] = []
    blocks: list[Any] = []
    groups: list[Any] = []
    beats: list[Any] = []
    outcomes: list[Any] = []
    for region in some:
        begins.append(_begin(region))
        words: list[int] = []
        for number, (raw, count) in enumerate(region.blocks, 1):
            last = int(number == len(region.blocks))
            blocks.append({"count": count, "length": len(raw), "last": last})
            groups += _groups(raw, generator)
            found, outcome = _decoded(region, raw, count, tables[region.slot])
            words += found
            outcomes.append(outcome)
        beats += _beats(unit.lanes, words)
    inputs = {"i_begin": begins, "i_block": blocks, "i": groups}
    return Stimulus(inputs, {"o": beats, "o_block": outcomes})


def entries(table: CodeTable, slot: int) -> Columns:
    """Writes of a table into a slot."""
    ahead = np.arange(1 << LONGEST_CODE)
    symbol, length = table.decoding >> 4, table.decoding & 15
    return Columns(
        {"slot": np.full_like(ahead, slot), "ahead": ahead, "length": length, "symbol": symbol}
    )


def _begin(region: Region) -> dict[str, int]:
    return {
        "exponent": region.exponent,
        "mantissa_bits": region.mantissa_bits,
        "bf16": int(region.fmt == FORMATS[FormatCode.BF16]),
        "slot": region.slot,
    }


def _groups(raw: bytes, generator: Random) -> list[list[int]]:
    """A block's bytes; noise behind them."""
    noise = generator.randbytes(-len(raw) % CODED_BYTES)
    return [[*(raw + noise)[at : at + CODED_BYTES]] for at in range(0, len(raw), CODED_BYTES)]


def _decoded(
    region: Region, raw: bytes, count: int, table: CodeTable
) -> tuple[list[int], BlockOutcome]:
    found, outcome = decoded_block(
        raw, count, region.fmt, region.exponent, table, region.mantissa_bits
    )
    return (found.view(torch.int16).to(torch.int32) & 0xFFFF).tolist(), outcome


def _beats(lanes: int, words: Sequence[int]) -> list[dict[str, Any]]:
    beats = [words[at : at + lanes] for at in range(0, len(words), lanes)]
    return [
        {
            "data": [*beat, *[0] * (lanes - len(beat))],
            "keep": (1 << len(beat)) - 1,
            "last": int(number == len(beats)),
        }
        for number, beat in enumerate(beats, 1)
    ]
