"""Puts headers, tables and block lengths around blocks."""

import numpy as np

from adagrain.models.interface.codec import (
    CODEC_MAGIC,
    CODEC_VERSION,
    GradientHeader,
    TableNumber,
)
from adagrain.models.interface.records import pack

from .choice_kernel import carried as carried_table
from .parts import CHECKSUM, HEADER_SIZE, Parts, checksum
from .sizes_kernel import pack_sizes, widths_of

__all__ = ["assemble"]

#: Region headers, many at a time; as ``RegionHeader``.
_REGIONS = np.dtype([("count", "<u4"), ("exponent", "u1"), ("rest", "u1")])


def assemble(parts: Parts) -> bytes:
    """The frame of these parts.

    Raises
    ------
    ValueError
        If there are more regions than 65535, or more bytes than 2^32 − 1.
    """
    widths = widths_of(parts.sizes, parts.first_blocks)
    records = np.zeros(len(parts.counts), dtype=_REGIONS)
    records["count"], records["exponent"] = parts.counts, parts.bases
    records["rest"] = widths | parts.slots << 4
    carried = [
        carried_table(own).tobytes()
        for number, own in zip(parts.numbers, parts.lengths, strict=True)
        if number == TableNumber.CARRIED
    ]
    packed = pack_sizes(parts.sizes, widths, parts.first_blocks)
    middle = [records.tobytes(), *carried, packed.tobytes()]
    header = pack(
        GradientHeader,
        magic=CODEC_MAGIC,
        version=CODEC_VERSION,
        format=parts.fmt.code,
        mantissa_bits=parts.mantissa_bits,
        table_0=parts.numbers[0],
        table_1=parts.numbers[1],
        regions=len(parts.counts),
        length=HEADER_SIZE + sum(map(len, middle)) + len(parts.blocks) + CHECKSUM.size,
    )
    body = b"".join([header, *middle, parts.blocks.data])
    return body + CHECKSUM.pack(checksum(body, parts.numbers, parts.lengths))
