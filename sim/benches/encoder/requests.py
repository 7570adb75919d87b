"""Random requests for the encoder: tables, blocks, and words of what they became."""

import random

import torch

from adagrain.models.codec import coded_blocks
from adagrain.models.interface.codec import BLOCK, ESCAPE, SLOTS, SYMBOLS
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.formats import FormatCode, format_of
from adagrain.models.interface.records import pack, size
from adagrain.models.interface.units import ENCODER, Unit
from adagrain.models.interface.units.code_lengths import (
    WORD_BYTES,
    CodeLengths,
    packed_lengths,
)
from adagrain.models.interface.units.encoder import EncoderBegin, EncoderOpcode
from adagrain.models.interface.units.ranges import Range
from adagrain.models.interface.units.statistics import BINS
from adagrain.models.mask import masked
from adagrain.sim.benches.requests import Kinds, Request
from adagrain.sim.benches.tensor_input.requests import PassRequests, padded

from .traffic import Region, random_region, random_table

__all__ = ["EncoderRequests", "table_request"]


class EncoderRequests(PassRequests):
    """Blocks of either format, by tables that are replaced now and then; and reads of them."""

    unit = ENCODER

    def __init__(
        self, configuration: Configuration, generator: random.Random, longest: int = 300
    ) -> None:
        super().__init__(configuration, generator, longest)
        self._tables = [random_table(generator) for _ in range(SLOTS)]
        self._words = 0  # of the block that was coded last

    def prologue(self) -> list[Request]:
        """A pass and a read before there is a table, and the tables."""
        early, _ = self._tensor(from_link=1)
        return [
            Request(EncoderOpcode.BEGIN, early),
            Request(EncoderOpcode.READ, pack(Range, first=0, count=1)),
            *(table_request(ENCODER, n, own.lengths) for n, own in enumerate(self._tables)),
        ]

    def kinds(self) -> Kinds:
        return {**super().kinds(), self._replace: 0.2, self._unsound: 0.2}

    def wild(self) -> list[Request]:
        """A pass with any fields, and any lengths."""
        return [
            Request(EncoderOpcode.BEGIN, self._random.randbytes(size(EncoderBegin))),
            Request(EncoderOpcode.TABLE, self._random.randbytes(size(CodeLengths))),
        ]

    def _replace(self) -> list[Request]:
        """Another table, or lengths that are none."""
        slot, table = self._random.randrange(SLOTS), random_table(self._random)
        if self._random.random() < 0.5:
            wrong = bytearray(table.lengths)
            symbol = self._random.choice([0, ESCAPE, self._random.randrange(SYMBOLS)])
            wrong[symbol] = (wrong[symbol] + self._random.choice([1, 2, 4, 15])) % 16
            return [table_request(ENCODER, slot, bytes(wrong))]
        self._tables[slot] = table
        return [table_request(ENCODER, slot, table.lengths)]

    def _unsound(self) -> list[Request]:
        """A pass that cannot be."""
        tensor, fields = self._block()
        fmt = format_of(tensor.dtype)
        change: dict[str, int] = self._random.choice(
            [
                {"count": BLOCK + 1},
                {"count": 0},
                {"format": FormatCode.FP32},
                {"format": 0x80 | fmt.code},
                {"exponent": fmt.largest_exponent + 1},
                {"mask_exponent": fmt.largest_exponent + 1},
                {"mantissa_bits": fmt.mantissa_bits + 1},
            ]
        )
        return [Request(EncoderOpcode.BEGIN, pack(EncoderBegin, **fields | change))]

    def _tensor(self, from_link: int) -> tuple[bytes, bytes]:
        tensor, fields = self._block()
        keep = [fields["keep"] >> number & 1 for number in range(BINS)]
        kept = masked(tensor, fields["mask_exponent"], keep)
        how = fields["exponent"], self._tables[fields["slot"]], fields["mantissa_bits"]
        (block,) = coded_blocks(kept, *how)
        self._words = -(-len(block or b"") // WORD_BYTES)
        begin = pack(EncoderBegin, **fields, from_link=from_link)
        return begin, padded(tensor.view(torch.uint8).numpy().tobytes())

    def _block(self) -> tuple[torch.Tensor, dict[str, int]]:
        """Elements of a block, and the fields that a pass over them begins with."""
        while True:
            region = random_region(self._random, self._random.randrange(SLOTS))
            code = format_of(region.tensor.dtype).code
            if code in self._configuration.formats:
                break
        most = BLOCK if self._random.random() < 0.1 else self._longest
        tensor = region.tensor[:most]
        return tensor, {
            "count": len(tensor),
            "format": code,
            "slot": region.slot,
            "to_port": self._random.randrange(2),
            "mantissa_bits": region.mantissa_bits,
            "exponent": region.exponent,
            **self._mask(region),
        }

    def _mask(self, region: Region) -> dict[str, int]:
        """A mask that keeps all, the larger ones, any, or none."""
        largest = format_of(region.tensor.dtype).largest_exponent
        keep = (1 << self._random.choice([BINS, self._random.randrange(BINS + 1)])) - 1
        if self._random.random() < 0.2:
            keep = self._random.getrandbits(BINS)
        exponent = self._random.choice([region.exponent, self._random.randrange(largest + 1)])
        return {"keep": keep, "mask_exponent": exponent}

    def _other(self) -> list[Request]:
        """Now and then a table, or a read, while a pass is under way."""
        if self._random.random() < 0.8:
            return super()._other()
        early = Request(EncoderOpcode.READ, pack(Range, first=0, count=1))
        return [table_request(ENCODER, 0, self._tables[0].lengths), early]

    def _after(self) -> list[Request]:
        """Words from anywhere, all that fit a reply, and such as there are not."""
        room, first = self._configuration.payload // WORD_BYTES, 0
        if not self._words and self._random.random() < 0.7:
            return []
        if self._random.random() < 0.5:
            first = self._random.randrange(self._words + 1)
        count = min(self._words - first, room, 0xFF) + self._random.choice([0, 0, 0, 0, 1, -1])
        read = pack(Range, first=first, count=min(max(count, 0), 0xFF))
        return [Request(EncoderOpcode.READ, read)]


def table_request(unit: Unit, slot: int, lengths: bytes) -> Request:
    """What puts code lengths into a slot of a unit of the codec."""
    (opcode,) = (own.opcode for own in unit.operations if own.request.head is CodeLengths)
    return Request(opcode, packed_lengths(slot, lengths))
