"""Gradients to frames and back, by the codec of a device."""

from collections.abc import Sequence
from functools import cached_property

import torch

from adagrain.host.link.session import Session
from adagrain.models.codec import CodeTable
from adagrain.models.interface.units import DECODER, ENCODER
from adagrain.models.mask import KeepTable

from .blocks import Blocks
from .code_tables import CodeTables
from .connection import Connection
from .decoding import Decoding
from .encoding import Encoding
from .recovery import Recovery

__all__ = ["CodecCalls"]


class CodecCalls(Connection):
    """The operations of a device's codec."""

    def encode(
        self,
        tensors: Sequence[torch.Tensor],
        *,
        exponents: Sequence[int] | None = None,
        tables: Sequence[CodeTable] | None = None,
        mantissa_bits: int | None = None,
        masks: Sequence[KeepTable | None] | None = None,
    ) -> bytes:
        """The frame of some regions' tensors, masked and coded by the device.

        The same, byte for byte, as :func:`adagrain.models.codec.encode` gives of tensors that
        :func:`adagrain.models.mask.masked` has masked. The host chooses bases, tables and slots,
        and puts headers and checksum around the blocks.

        Parameters
        ----------
        tensors, exponents, tables, mantissa_bits
            As those of :func:`adagrain.models.codec.encode`.
        masks : sequence of KeepTable or None
            For each tensor which elements are kept; ``None``: all.

        Raises
        ------
        TypeError, ValueError
            If tensors or arguments are not as they must be, or the build has no encoder.
        DeviceError
            If the device fails, or makes a block of a length that it cannot have.
        """
        return self._encoding.encode(tensors, exponents, tables, mantissa_bits, masks)

    def decode(
        self,
        frame: bytes,
        *,
        tables: Sequence[CodeTable] = (),
        counts: Sequence[int] | None = None,
        most: int = 1 << 28,
    ) -> list[torch.Tensor]:
        """The tensors of a frame, decoded by the device.

        The same as :func:`adagrain.models.codec.decode` gives, bit for bit. The host checks the
        frame, and takes it apart; the device looks at each coded block, and none of its elements is
        used before all were found to be sound.

        Parameters
        ----------
        frame, tables, counts, most
            As those of :func:`adagrain.models.codec.decode`.

        Raises
        ------
        CodecError
            If the frame is not as it must be.
        TypeError, ValueError
            If another argument is not, or the build has no decoder.
        DeviceError
            If the device fails, or finds fault with a block that is sound.
        """
        return self._decoding.decode(frame, tables, counts, most)

    @cached_property
    def _decoding(self) -> Decoding:
        made = Blocks(*self._device, DECODER, lambda record: 2 * record["elements"])
        return Decoding(self.configuration, made)

    @cached_property
    def _encoding(self) -> Encoding:
        made = Blocks(*self._device, ENCODER, lambda record: record["length"])
        return Encoding(self.configuration, made)

    @property
    def _device(self) -> tuple[Session, Recovery, CodeTables]:
        return self._session, self._recovery, self._code_tables
