"""Payloads of streams as Python values: integers, and dicts and lists of them.

Simulators see a structured payload as one plain number. These two functions translate by the
payload's shape: a :class:`~amaranth.lib.data.StructLayout` (or a ``Struct``) is a dict by field
name, an ``ArrayLayout`` a list, everything else an integer.
"""

from typing import Any

from amaranth.hdl import Shape, ShapeCastable
from amaranth.lib import data

__all__ = ["decode", "encode", "fields_of"]


def encode(shape: Any, value: Any) -> int:
    """The bits of a value, as an unsigned number. Fields that a dict leaves out are 0.

    Raises
    ------
    ValueError
        If a field does not exist, a list has the wrong length, or a number does not fit.
    """
    pairs = fields_of(shape, value)
    if pairs is None:
        return _encode_number(Shape.cast(shape), int(value))
    return sum(encode(field.shape, item) << field.offset for field, item in pairs)


def decode(shape: Any, bits: int) -> Any:
    """The value that some bits stand for; :func:`encode`'s inverse."""
    shape = _resolve(shape)
    if isinstance(shape, data.StructLayout):
        return {name: decode(field.shape, bits >> field.offset) for name, field in shape}
    if isinstance(shape, data.ArrayLayout):
        return [decode(field.shape, bits >> field.offset) for _, field in shape]
    number = Shape.cast(shape)
    bits &= (1 << number.width) - 1
    return bits - (1 << number.width) if number.signed and bits >> (number.width - 1) else bits


def fields_of(shape: Any, value: Any) -> list[tuple[data.Field, Any]] | None:
    """The fields of a structured value, each with its own; ``None`` if it is a number.

    Raises
    ------
    ValueError
        If a field does not exist, or a list has the wrong length.
    """
    shape = _resolve(shape)
    if isinstance(shape, data.StructLayout):
        fields = dict(shape)
        if unknown := ", ".join(map(str, value.keys() - fields.keys())):
            raise ValueError(f"fields must be of {', '.join(map(str, fields))}, not {unknown}")
        return [(fields[name], item) for name, item in value.items()]
    if isinstance(shape, data.ArrayLayout):
        if len(value) != shape.length:
            raise ValueError(f"array must have {shape.length} elements, not {len(value)}")
        return [(shape[index], item) for index, item in enumerate(value)]
    return None


def _resolve(shape: Any) -> Any:
    """The layout behind a ``Struct`` class; other shapes as they are."""
    if isinstance(shape, ShapeCastable) and isinstance(inner := shape.as_shape(), data.Layout):
        return inner
    return shape


def _encode_number(shape: Shape, value: int) -> int:
    low = -(1 << (shape.width - 1)) if shape.signed else 0
    high = low + (1 << shape.width) - 1
    if not low <= value <= high:
        raise ValueError(f"value must be from {low} to {high}, not {value}")
    return value & ((1 << shape.width) - 1)
