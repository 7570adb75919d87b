"""Random requests for the encoder: tables, blocks, and words of what they became."""

import torch

from adagrain.models.codec import coded_blocks
from adagrain.models.interface.codec import BLOCK, SLOTS
from adagrain.models.interface.formats import FormatCode, format_of
from adagrain.models.interface.records import pack
from adagrain.models.interface.units import ENCODER
from adagrain.models.interface.units.code_lengths import WORD_BYTES
from adagrain.models.interface.units.encoder import EncoderBegin, EncoderOpcode
from adagrain.models.interface.units.statistics import BINS
from adagrain.models.mask import masked
from adagrain.sim.benches.requests import Request
from adagrain.sim.benches.tensor_input.requests import padded

from .codec_requests import CodecRequests
from .traffic import Region, random_region

__all__ = ["EncoderRequests"]


class EncoderRequests(CodecRequests):
    """Blocks of either format, by tables that are replaced now and then; and reads of them."""

    unit = ENCODER

    def _impossible(self) -> list[Request]:
        """Begins of passes that cannot be, one for each reason."""
        tensor, fields = self._block()
        fmt = format_of(tensor.dtype)
        changes: list[dict[str, int]] = [
            {"count": BLOCK + 1},
            {"count": 0},
            {"format": FormatCode.FP32},
            {"format": 0x80 | fmt.code},
            {"exponent": fmt.largest_exponent + 1},
            {"mask_exponent": fmt.largest_exponent + 1},
            {"mantissa_bits": fmt.mantissa_bits + 1},
        ]
        return [
            Request(EncoderOpcode.BEGIN, pack(EncoderBegin, **fields | change))
            for change in changes
        ]

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
