"""Requests for the codec's units: the golden models of their handlers."""

import torch

from adagrain.models.device.refusal import Refusal, require
from adagrain.models.device.tensor_input import TensorInputModel
from adagrain.models.device.tensor_pass import TensorPassModel
from adagrain.models.interface.codec import BLOCK, CODED_FORMATS, SLOTS, BlockOutcome
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.formats import FORMATS, FormatCode
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.records import pack, unpack
from adagrain.models.interface.units import DECODER, ENCODER, Unit
from adagrain.models.interface.units.code_lengths import WORD_BYTES, lengths_of
from adagrain.models.interface.units.decoder import CODED_WORD, DecoderOpcode, DecoderRecord
from adagrain.models.interface.units.encoder import EncoderOpcode, EncoderRecord
from adagrain.models.interface.units.ranges import Range
from adagrain.models.interface.units.statistics import BINS
from adagrain.models.interface.units.tensor_input import BEAT
from adagrain.models.mask import masked

from .decoder import decoded_block
from .encoder import coded_blocks
from .errors import CodecError
from .table import CodeTable

__all__ = ["DecoderCommands", "EncoderCommands"]


class _BlockCommands(TensorPassModel):
    """A unit that makes a block of a tensor, by a table in one of its slots."""

    def __init__(
        self, configuration: Configuration, tensor_input: TensorInputModel, unit: Unit
    ) -> None:
        super().__init__(configuration, tensor_input, unit)
        self._tables: list[CodeTable | None] = [None] * SLOTS
        self._block = b""  # what can be read, in whole words
        self._results = b""  # what has left by the data port

    def take_results(self) -> list[int]:
        taken, self._results = self._results, b""
        return [int.from_bytes(taken[at : at + 4], "little") for at in range(0, len(taken), 4)]

    def _begin(self, payload: bytes) -> bytes:
        reply = super()._begin(payload)
        self._block = b""
        return reply

    def _leave(self, block: bytes, *, to_port: int) -> None:
        """Keep a block, and send it out of the data port if that is wanted."""
        self._block = block + bytes(-len(block) % WORD_BYTES)
        if to_port:
            self._results += block + bytes(-len(block) % BEAT)

    def _table(self, slot: int) -> CodeTable:
        table = self._tables[slot]
        if table is None:
            raise Refusal(Status.NO_TABLE)
        return table

    def _load(self, payload: bytes) -> bytes:
        require(self.begun is None, Status.BUSY)
        slot, lengths = lengths_of(payload)
        try:
            self._tables[slot] = CodeTable(lengths)
        except CodecError:
            raise Refusal(Status.BAD_VALUE) from None
        return b""

    def _read(self, payload: bytes) -> bytes:
        first, count = unpack(Range, payload).values()
        start, end = first * WORD_BYTES, (first + count) * WORD_BYTES
        require(0 < count <= self.configuration.payload // WORD_BYTES, Status.BAD_VALUE)
        require(end <= len(self._block), Status.BAD_VALUE)
        return self._block[start:end]


class EncoderCommands(_BlockCommands):
    """Golden model of :class:`adagrain.hdl.codec.encoder_commands.EncoderCommands`.

    Parameters
    ----------
    configuration, tensor_input
        As those of :class:`adagrain.models.device.unit_model.UnitModel`.
    """

    def __init__(self, configuration: Configuration, tensor_input: TensorInputModel) -> None:
        super().__init__(configuration, tensor_input, ENCODER)
        self.operations = {
            **self.operations,
            EncoderOpcode.TABLE: self._load,
            EncoderOpcode.READ: self._read,
        }

    def check(self, begin: dict[str, int]) -> None:
        require(begin["format"] in CODED_FORMATS, Status.BAD_VALUE)
        fmt = FORMATS[FormatCode(begin["format"])]
        exponents = begin["exponent"], begin["mask_exponent"]
        fits = max(exponents) <= fmt.largest_exponent and begin["count"] <= BLOCK
        require(fits and begin["mantissa_bits"] <= fmt.mantissa_bits, Status.BAD_VALUE)
        self._table(begin["slot"])

    def result(self, begin: dict[str, int], tensor: torch.Tensor) -> bytes:
        keep = [begin["keep"] >> number & 1 for number in range(BINS)]
        kept = masked(tensor, begin["mask_exponent"], keep)
        table = self._table(begin["slot"])
        (block,) = coded_blocks(kept, begin["exponent"], table, begin["mantissa_bits"])
        self._leave(block or b"", to_port=begin["to_port"])
        return pack(
            EncoderRecord,
            count=begin["count"],
            coded=int(kept.view(torch.int16).count_nonzero()),
            length=len(block or b""),
            given_up=block is None,
        )


class DecoderCommands(_BlockCommands):
    """Golden model of :class:`adagrain.hdl.codec.decoder_commands.DecoderCommands`.

    Parameters
    ----------
    configuration, tensor_input
        As those of :class:`adagrain.models.device.unit_model.UnitModel`.
    """

    def __init__(self, configuration: Configuration, tensor_input: TensorInputModel) -> None:
        super().__init__(configuration, tensor_input, DECODER)
        self.operations = {
            **self.operations,
            DecoderOpcode.TABLE: self._load,
            DecoderOpcode.READ: self._read,
        }

    def check(self, begin: dict[str, int]) -> None:
        require(begin["format"] == FormatCode.FP32, Status.BAD_VALUE)
        require(begin["element_format"] in CODED_FORMATS, Status.BAD_VALUE)
        fmt = FORMATS[FormatCode(begin["element_format"])]
        fits = begin["exponent"] <= fmt.largest_exponent and _coded_bytes(begin) < 2 * BLOCK
        require(fits and begin["mantissa_bits"] <= fmt.mantissa_bits, Status.BAD_VALUE)
        require(1 <= begin["elements"] <= BLOCK, Status.BAD_VALUE)
        self._table(begin["slot"])

    def result(self, begin: dict[str, int], tensor: torch.Tensor) -> bytes:
        raw = tensor.view(torch.uint8).numpy().tobytes()[: _coded_bytes(begin)]
        fmt = FORMATS[FormatCode(begin["element_format"])]
        how = begin["exponent"], self._table(begin["slot"]), begin["mantissa_bits"]
        elements, outcome = decoded_block(raw, begin["elements"], fmt, *how)
        is_fine = outcome == BlockOutcome.FINE
        block = elements.view(torch.int16).numpy().tobytes() if is_fine else b""
        self._leave(block, to_port=begin["to_port"])
        return pack(DecoderRecord, elements=len(block) // 2, outcome=outcome)


def _coded_bytes(begin: dict[str, int]) -> int:
    """Bytes of the coded block that a pass is begun for."""
    return begin["count"] * CODED_WORD - begin["spare"]
