"""Puts headers, tables and block lengths around blocks."""

from adagrain.models.interface.codec import (
    CODEC_MAGIC,
    CODEC_VERSION,
    GradientHeader,
)
from adagrain.models.interface.records import pack

from .parts import CHECKSUM, HEADER_SIZE, Parts, checksum
from .writer_kernel import write_body

__all__ = ["assemble"]


def assemble(parts: Parts) -> bytes:
    """The frame of these parts.

    Raises
    ------
    ValueError
        If there are more regions than 65535, or more bytes than 2^32 − 1.
    """
    middle = write_body(
        parts.counts,
        parts.bases,
        parts.slots,
        parts.first_blocks,
        parts.sizes,
        parts.numbers,
        parts.lengths,
    )
    header = pack(
        GradientHeader,
        magic=CODEC_MAGIC,
        version=CODEC_VERSION,
        format=parts.fmt.code,
        mantissa_bits=parts.mantissa_bits,
        table_0=parts.numbers[0],
        table_1=parts.numbers[1],
        regions=len(parts.counts),
        length=HEADER_SIZE + len(middle) + len(parts.blocks) + CHECKSUM.size,
    )
    body = b"".join([header, middle.data, parts.blocks.data])
    return body + CHECKSUM.pack(checksum(body, parts.numbers, parts.lengths))
