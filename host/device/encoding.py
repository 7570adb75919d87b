"""Regions to frames, by the encoder of a device."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import torch

from adagrain.host.errors import DeviceError
from adagrain.models.codec import CodeTable
from adagrain.models.codec.elements import Elements, Symbols
from adagrain.models.codec.encoder import encode_by
from adagrain.models.interface.codec import BLOCK
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.units import ENCODER
from adagrain.models.interface.units.statistics import BINS
from adagrain.models.mask import KeepTable, masked

from .blocks import Block, Blocks, Made
from .memory import check_readable, elements_of, words_of

__all__ = ["Encoding"]

#: A mask that keeps all.
_ALL = KeepTable(0, (1,) * BINS)


class Encoding:
    """Has a device mask and code regions.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    blocks : Blocks
        Has its encoder make blocks.
    """

    def __init__(self, configuration: Configuration, blocks: Blocks) -> None:
        self._configuration, self._blocks = configuration, blocks

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
        packing = partial(self._packed, [elements_of(x) for x in tensors], keeps)
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
        for mask in masks or ():
            if not isinstance(mask, KeepTable | None):
                raise TypeError(f"masks must be of KeepTable, or None, not {mask!r}")

    def _packed(
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
        regions = zip(given, keeps, symbols.bases.tolist(), slots.tolist(), strict=True)
        blocks = [
            Block(
                {
                    "count": min(BLOCK, x.numel() - at),
                    "format": elements.fmt.code,
                    "slot": slot,
                    "mantissa_bits": symbols.mantissa_bits,
                    "exponent": base,
                    "mask_exponent": keep.exponent,
                    "keep": sum(int(kept) << number for number, kept in enumerate(keep.keep)),
                },
                words_of(x[at : at + BLOCK]),
            )
            for x, keep, base, slot in regions
            for at in range(0, x.numel(), BLOCK)
        ]
        coded = self._blocks.made(blocks, tables)
        stored = (raw for x in elements.tensors for raw in _stored(x))
        found = [_found(*own) for own in zip(coded, stored, strict=True)]
        sizes = np.array([len(block) for block in found], dtype=np.int32)
        return np.frombuffer(b"".join(found), dtype=np.uint8), sizes

    def _check_format(self, code: FormatCode) -> None:
        built = self._configuration
        if code not in built.formats:
            known = ", ".join(known.name for known in built.formats)
            raise TypeError(
                f"format must be one of {known} on device preset {built.preset!r}, not {code.name}"
            )


def _stored(x: torch.Tensor) -> Iterator[bytes]:
    """The elements of each block, as a frame stores them."""
    raw = x.view(torch.int16).numpy().tobytes()
    return (raw[at : at + 2 * BLOCK] for at in range(0, len(raw), 2 * BLOCK))


def _found(made: Made, stored: bytes) -> bytes:
    """A block that the device has made, or one that it gives up as its elements are.

    Raises
    ------
    DeviceError
        If it is longer than a coded block can be.
    """
    if made.record["given_up"]:
        return stored
    if len(made.raw) >= len(stored):
        raise DeviceError(
            f"a coded block of {len(stored) // 2} elements must have fewer than {len(stored)} "
            f"bytes, not {len(made.raw)}"
        )
    return made.raw
