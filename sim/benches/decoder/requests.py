"""Random requests for the decoder: tables, coded blocks, sound and damaged, and their elements."""

from adagrain.models.codec import decoded_block
from adagrain.models.interface.codec import BLOCK, SLOTS, BlockOutcome
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.records import pack
from adagrain.models.interface.units import DECODER
from adagrain.models.interface.units.decoder import CODED_WORD, DecoderBegin, DecoderOpcode
from adagrain.sim.benches.encoder.codec_requests import CodecRequests
from adagrain.sim.benches.requests import Request
from adagrain.sim.benches.tensor_input.requests import padded

from .traffic import Region, random_region

__all__ = ["DecoderRequests"]

#: Chance of a block that its bytes are not what an encoder makes.
_DAMAGE = 0.3


class DecoderRequests(CodecRequests):
    """Blocks of either format, by tables that are replaced now and then; and reads of them."""

    unit = DECODER

    def _impossible(self) -> list[Request]:
        """Begins of passes that cannot be, one for each reason."""
        region, raw, count = self._block()
        fields = self._fields(region, raw, count)
        changes: list[dict[str, int]] = [
            {"elements": 0},
            {"elements": BLOCK + 1},
            {"count": 0},
            {"count": 2 * BLOCK // CODED_WORD, "spare": 0},
            {"count": 2 * BLOCK // CODED_WORD + 1, "spare": 3},
            {"format": FormatCode.BF16},
            {"element_format": FormatCode.FP32},
            {"exponent": region.fmt.largest_exponent + 1},
            {"mantissa_bits": region.fmt.mantissa_bits + 1},
        ]
        return [
            Request(DecoderOpcode.BEGIN, pack(DecoderBegin, **fields | change))
            for change in changes
        ]

    def _tensor(self, from_link: int) -> tuple[bytes, bytes]:
        region, raw, count = self._block()
        how = region.exponent, self._tables[region.slot], region.mantissa_bits
        _, outcome = decoded_block(raw, count, region.fmt, *how)
        self._words = -(-count // 4) if outcome == BlockOutcome.FINE else 0
        begin = pack(DecoderBegin, **self._fields(region, raw, count), from_link=from_link)
        noise = self._random.randbytes(-len(raw) % CODED_WORD)
        return begin, padded(raw + noise)

    def _block(self) -> tuple[Region, bytes, int]:
        """A block that has bytes, and its elements."""
        while True:
            slot = self._random.randrange(SLOTS)
            region = random_region(self._tables, slot, self._random, _DAMAGE)
            raw, count = self._random.choice(region.blocks)
            if raw and (count <= self._longest or self._random.random() < 0.1):
                return region, raw, count

    def _fields(self, region: Region, raw: bytes, count: int) -> dict[str, int]:
        words = -(-len(raw) // CODED_WORD)
        return {
            "count": words,
            "format": FormatCode.FP32,
            "slot": region.slot,
            "to_port": self._random.randrange(2),
            "mantissa_bits": region.mantissa_bits,
            "exponent": region.exponent,
            "elements": count,
            "element_format": region.fmt.code,
            "spare": words * CODED_WORD - len(raw),
        }
