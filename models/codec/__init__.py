"""Golden model of ``codec``: masked gradients to frames of few bytes, and back, bit for bit."""

from .choice import build_tables
from .decoder import decode, decoded_block
from .defaults import DEFAULT_TABLES
from .dissection import region_bytes
from .encoder import coded_blocks, encode, histogram
from .errors import CodecError
from .mantissa import with_mantissa_bits
from .table import CodeTable, build_table

__all__ = [
    "DEFAULT_TABLES",
    "CodeTable",
    "CodecError",
    "build_table",
    "build_tables",
    "coded_blocks",
    "decode",
    "decoded_block",
    "encode",
    "histogram",
    "region_bytes",
    "with_mantissa_bits",
]
