"""Regions of masked elements for the encoder, and the golden encoder's blocks of them."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import partial
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch

from adagrain.hdl.codec import Encoder
from adagrain.hdl.codec.layouts import CODED_BYTES
from adagrain.models.codec import CodeTable, build_table, with_mantissa_bits
from adagrain.models.codec.defaults import DEFAULT_TABLES
from adagrain.models.codec.encoder import overlong_blocks
from adagrain.models.interface.codec import BLOCK, CODED_FORMATS, SLOTS, SYMBOLS
from adagrain.models.interface.formats import FORMATS, ElementFormat, FormatCode
from adagrain.sim.simulators.stimulus import Stimulus

__all__ = ["Region", "beats", "codes", "random_region", "random_regions", "random_table", "regions"]

#: Elements that nothing but an escape may code, and those at ends of ranges, as words of 16 bits.
_SPECIAL = (0x8000, 0x0001, 0x8001, 0x007F, 0x0080, 0x0400, 0x7C00, 0x7F80, 0x7FC1, 0xFFFF, 0x7F7F)


class Region(NamedTuple):
    """A region's elements, and how they are coded."""

    tensor: torch.Tensor
    exponent: int
    mantissa_bits: int
    slot: int


def random_regions(unit: Encoder, count: int, generator: Random) -> Iterator[Stimulus]:
    """So many times some regions, while the table in the slot that they do not use is replaced."""
    tables = [random_table(generator) for _ in range(SLOTS)]
    yield Stimulus({"i_code": [*codes(tables[0], 0), *codes(tables[1], 1)]})
    for _ in range(count):
        kept = generator.randrange(SLOTS)
        some = [random_region(generator, kept) for _ in range(generator.randrange(1, 6))]
        given = regions(unit.lanes, some, tables, generator)
        tables[1 - kept] = random_table(generator)
        yield Stimulus({**given.inputs, "i_code": codes(tables[1 - kept], 1 - kept)}, given.outputs)
        both = [random_region(generator, generator.randrange(SLOTS)) for _ in range(4)]
        yield regions(unit.lanes, both, tables, generator)
    table = generator.choice([*DEFAULT_TABLES.values()])
    yield Stimulus({"i_code": codes(table, 0)})
    yield regions(unit.lanes, [_full_region(generator, table)], [table], generator)


def _full_region(generator: Random, table: CodeTable) -> Region:
    """One block whose code takes as many bytes as its elements: the shortest that is given up."""
    while True:
        draw = np.random.default_rng(generator.getrandbits(32))
        words = draw.integers(0, 1 << 16, BLOCK, dtype=np.uint16)
        words[draw.random(BLOCK) < 0.5] = 0
        size = partial(_size, words, table)
        count = bisect_left(range(BLOCK), 2 * BLOCK, key=size)
        if size(count) == 2 * BLOCK:
            return _first(words, count)


def _first(words: np.ndarray, count: int) -> Region:
    """A block whose other elements are zeros."""
    tensor = torch.from_numpy(np.where(np.arange(BLOCK) < count, words, np.uint16(0)))
    return Region(tensor.view(torch.bfloat16), 0, FORMATS[FormatCode.BF16].mantissa_bits, 0)


def _size(words: np.ndarray, table: CodeTable, count: int) -> int:
    """Bytes of that block's code."""
    region = _first(words, count)
    (block,) = overlong_blocks(region.tensor, region.exponent, table, region.mantissa_bits)
    return len(block)


def random_table(generator: Random) -> CodeTable:
    """A default one, or one of any shape, in which symbols may be missing."""
    if generator.randrange(4) == 0:
        return generator.choice([*DEFAULT_TABLES.values()])
    draw = np.random.default_rng(generator.getrandbits(32))
    weights = np.exp(draw.uniform(0, 12, SYMBOLS)).astype(np.int64)
    weights[draw.random(SYMBOLS) < generator.choice([0, 0.5, 0.99])] = 0
    return build_table(weights)


def random_region(generator: Random, slot: int) -> Region:
    """A region of either format, short or of some blocks, dense or sparse, rounded or not."""
    fmt = FORMATS[generator.choice(CODED_FORMATS)]
    near = generator.choice([0, 0, BLOCK, 2 * BLOCK]) + generator.randrange(-9, 70)
    size = max(near, 1 + generator.randrange(300))
    draw = torch.Generator().manual_seed(generator.getrandbits(32))
    spread = generator.choice([0.3, 2.0, 9.0])
    values = torch.randn(size, generator=draw) * torch.exp(
        spread * torch.randn(size, generator=draw)
    )
    kept = torch.rand(size, generator=draw) < generator.choice([0, 0.001, 0.01, 0.1, 0.5, 1])
    mantissa_bits = generator.choice([0, generator.randrange(fmt.mantissa_bits + 1)])
    tensor = torch.where(kept, values, 0.0).to(fmt.dtype)
    if generator.randrange(3):  # now and then to a bit more than is sent
        most = min(mantissa_bits + generator.choice([0, 1]), fmt.mantissa_bits)
        tensor = with_mantissa_bits(tensor, most)
    words = tensor.view(torch.int16)
    for _ in range(generator.choice([0, 0, 1, 5, 40])):
        special = generator.choice([*_SPECIAL, generator.getrandbits(16)])
        words[generator.randrange(size)] = special - (special >> 15 << 16)
    return Region(tensor, _exponent(tensor, fmt, generator), mantissa_bits, slot)


def _exponent(tensor: torch.Tensor, fmt: ElementFormat, generator: Random) -> int:
    """A base: that of the largest element, one near it, or any."""
    most = (1 << fmt.exponent_bits) - 2
    if generator.randrange(6) == 0:
        return generator.choice([0, most, generator.randrange(most + 1)])
    fields = (tensor.view(torch.int16) & 0x7FFF) >> fmt.mantissa_bits
    largest = int(fields[fields <= most].max()) if (fields <= most).any() else 0
    return min(max(largest + generator.choice([0, 0, 0, -1, 1]), 0), most)


def regions(
    lanes: int, some: Sequence[Region], tables: Sequence[CodeTable], generator: Random
) -> Stimulus:
    """Regions behind each other, by the tables in both slots, and their blocks."""
    parameters = [
        {
            "exponent": region.exponent,
            "mantissa_bits": region.mantissa_bits,
            "bf16": int(region.tensor.dtype == torch.bfloat16),
            "slot": region.slot,
        }
        for region in some
    ]
    elements = [beat for region in some for beat in beats(lanes, region.tensor, generator)]
    words = [word for region in some for word in _words(region, tables[region.slot])]
    return Stimulus({"i_region": parameters, "i": elements}, {"o": words})


def codes(table: CodeTable, slot: int) -> list[dict[str, Any]]:
    """Writes of a table into a slot."""
    return [
        {"slot": slot, "symbol": symbol, "code": {"code": int(code), "length": length}}
        for symbol, (code, length) in enumerate(zip(table.codes, table.lengths, strict=True))
    ]


def beats(
    lanes: int, tensor: torch.Tensor, generator: Random | None = None
) -> list[dict[str, Any]]:
    """A region's elements; in lanes that hold none there is noise, or +0."""
    words = (tensor.view(torch.int16).to(torch.int32) & 0xFFFF).tolist()
    found = []
    for start in range(0, len(words), lanes):
        some = words[start : start + lanes]
        rest = [generator.getrandbits(16) if generator else 0 for _ in range(lanes - len(some))]
        keep, last = (1 << len(some)) - 1, int(start + lanes >= len(words))
        found.append({"data": some + rest, "keep": keep, "last": last})
    return found


def _words(region: Region, table: CodeTable) -> Iterator[dict[str, Any]]:
    """The blocks of a region; of one that is given up, at most as much as its elements take."""
    found = overlong_blocks(region.tensor, region.exponent, table, region.mantissa_bits)
    for number, block in enumerate(found):
        sent, left = block[: 2 * BLOCK], region.tensor.numel() - number * BLOCK
        end = {
            "length": len(sent),
            "given_up": int(len(sent) >= 2 * min(left, BLOCK)),
            "closes": int(left <= BLOCK),
        }
        words = [sent[at : at + CODED_BYTES] for at in range(0, max(len(sent), 1), CODED_BYTES)]
        *before, last = [[*word.ljust(CODED_BYTES, b"\0")] for word in words]
        yield from ({"data": word} for word in before)
        yield {"data": last, "last": 1, **end}
