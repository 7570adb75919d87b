"""Frames to regions, by the decoder of a device."""

from collections.abc import Iterator, Sequence
from typing import NoReturn

import numpy as np
import torch

from adagrain.host.errors import DeviceError
from adagrain.models.codec import CodeTable
from adagrain.models.codec.decoder import decode_by, elements_of_parts
from adagrain.models.codec.parts import Parts
from adagrain.models.interface.codec import BLOCK, BlockOutcome
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.units import DECODER
from adagrain.models.interface.units.decoder import CODED_WORD
from adagrain.models.interface.units.tensor_input import BEAT

from .blocks import Block, Blocks, Made

__all__ = ["Decoding"]


class Decoding:
    """Has a device decode the coded blocks of frames.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    blocks : Blocks
        Has its decoder make elements.
    """

    def __init__(self, configuration: Configuration, blocks: Blocks) -> None:
        self._configuration, self._blocks = configuration, blocks

    def decode(
        self,
        frame: bytes,
        tables: Sequence[CodeTable],
        counts: Sequence[int] | None,
        most: int,
    ) -> list[torch.Tensor]:
        """As :meth:`adagrain.host.device.codec_calls.CodecCalls.decode`."""
        built = self._configuration
        if DECODER not in built.built():
            raise ValueError(
                f"decode needs a build with a decoder, which device preset {built.preset!r} has not"
            )
        return decode_by(self._words, frame, tables, counts, most)

    def _words(self, parts: Parts) -> np.ndarray:
        """The words of all regions, in which +0 is what the device was not asked for."""
        words = np.zeros(parts.elements, dtype=np.uint16)
        coded, places = [], []
        for place, raw, fields in _split(parts):
            if fields is None:
                words[place] = np.frombuffer(raw, dtype="<u2")
            else:
                coded.append(_block(raw, fields))
                places.append(place)
        made = self._blocks.made(coded, parts.tables)
        if any(one.record["outcome"] != BlockOutcome.FINE for one in made):
            self._refuse(parts, made)
        for place, one in zip(places, made, strict=True):
            words[place] = _elements(one, place.stop - place.start)
        return words

    def _refuse(self, parts: Parts, made: Sequence[Made]) -> NoReturn:
        """Let the golden decoder tell what is wrong with a frame.

        Raises
        ------
        CodecError
            If something is.
        DeviceError
            If nothing is.
        """
        elements_of_parts(parts)
        wrong = next(one for one in made if one.record["outcome"] != BlockOutcome.FINE)
        outcome = BlockOutcome(wrong.record["outcome"]).name
        raise DeviceError(f"a sound block must be FINE to the device, not {outcome}")


def _split(parts: Parts) -> Iterator[tuple[slice, bytes, dict[str, int] | None]]:
    """Blocks that are not all +0: their place, their bytes, and fields of those that are coded."""
    sizes, first, at = iter(parts.sizes.tolist()), 0, 0
    regions = zip(parts.counts.tolist(), parts.bases.tolist(), parts.slots.tolist(), strict=True)
    for count, base, slot in regions:
        for start in range(0, count, BLOCK):
            elements, size = min(BLOCK, count - start), next(sizes)
            place = slice(first + start, first + start + elements)
            raw, at = parts.blocks[at : at + size].tobytes(), at + size
            fields = {
                "slot": slot,
                "mantissa_bits": parts.mantissa_bits,
                "exponent": base,
                "elements": elements,
                "element_format": parts.fmt.code,
            }
            if size:
                yield place, raw, None if size == 2 * elements else fields
        first += count


def _elements(made: Made, count: int) -> np.ndarray:
    """The words of a block's elements.

    Raises
    ------
    DeviceError
        If they are not so many.
    """
    if made.record["elements"] != count:
        found = made.record["elements"]
        raise DeviceError(f"a block must have {count} elements to the device, not {found}")
    return np.frombuffer(made.raw, dtype="<u2")


def _block(raw: bytes, fields: dict[str, int]) -> Block:
    """A pass over the bytes of a coded block, in whole words."""
    padded = np.frombuffer(raw + bytes(-len(raw) % BEAT), dtype=np.uint32)
    count = -(-len(raw) // CODED_WORD)
    words = {"count": count, "format": FormatCode.FP32, "spare": count * CODED_WORD - len(raw)}
    return Block(fields | words, padded)
