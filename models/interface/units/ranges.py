"""The entries of a table that a request means."""

from amaranth.hdl import unsigned
from amaranth.lib import data

__all__ = ["ByteRange", "First", "Range"]

#: So many entries from one on, of 256 at most.
ByteRange = data.StructLayout({"first": unsigned(8), "count": unsigned(8)})

#: The first of the entries that follow.
First = data.StructLayout({"first": unsigned(16)})

#: So many entries from one on, of 65536 at most.
Range = data.StructLayout({"first": unsigned(16), "count": unsigned(8)})
