"""The fields by which a record begins a pass over tensors."""

from amaranth.hdl import unsigned

__all__ = ["TENSOR_FIELDS"]

#: The first fields of every record that begins a pass over a tensor.
TENSOR_FIELDS = {"count": unsigned(32), "format": unsigned(8)}
