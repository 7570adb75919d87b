"""Records that cross the boundary between gateware and host: one codec for all of them.

A record is an :mod:`amaranth.lib.data` layout, little end first, a whole number of bytes long:
gateware instantiates it as a signal, the host packs and unpacks it here.
"""

import operator
from functools import cache
from typing import Any, NamedTuple

from amaranth.lib import data

__all__ = ["pack", "size", "unpack", "unpack_all"]


class _Field(NamedTuple):
    """Where a field is, and what it may be."""

    offset: int
    width: int
    low: int
    high: int


class _Form(NamedTuple):
    """A layout, looked up once: amaranth finds sizes and offsets anew whenever it is asked."""

    size: int
    fields: dict[str, _Field]
    named: dict[str, _Field]


def size(layout: data.Layout) -> int:
    """Bytes that a record of the layout takes on the wire."""
    return _form(layout).size


def pack(layout: data.Layout, **fields: int) -> bytes:
    """The record's bytes; fields not named are 0.

    Raises
    ------
    TypeError, ValueError
        If a field does not exist, or a value is no integer or does not fit it.
    """
    form = _form(layout)
    bits = 0
    for name, value in fields.items():
        field = form.fields.get(name)
        if field is None:
            raise ValueError(f"field must be one of {', '.join(form.named)}, not {name!r}")
        try:
            value = operator.index(value)
        except TypeError:
            raise TypeError(f"{name} must be an integer, not {value!r}") from None
        if not field.low <= value <= field.high:
            raise ValueError(f"{name} must be from {field.low} to {field.high}, not {value}")
        bits |= (value & ((1 << field.width) - 1)) << field.offset
    return bits.to_bytes(form.size, "little")


def unpack(layout: data.Layout, raw: bytes) -> dict[str, int]:
    """The fields of a record by name, reserved ones left out.

    Raises
    ------
    ValueError
        If there are not exactly :func:`size` bytes.
    """
    form = _form(layout)
    if len(raw) != form.size:
        raise ValueError(f"record must be {form.size} bytes long, not {len(raw)}")
    bits = int.from_bytes(raw, "little")
    return {name: _extract(bits, field) for name, field in form.named.items()}


def unpack_all(layout: data.Layout, raw: bytes) -> list[dict[str, int]]:
    """The fields of records that follow each other.

    Raises
    ------
    ValueError
        If they end within one.
    """
    width = size(layout)
    return [unpack(layout, raw[at : at + width]) for at in range(0, len(raw), width)]


@cache
def _form(layout: data.Layout) -> _Form:
    if layout.size % 8:
        raise ValueError(f"layout must be a whole number of bytes, not {layout.size} bits")
    fields = {
        str(name): _Field(field.offset, field.width, *_range(field.shape)) for name, field in layout
    }
    named = {name: field for name, field in fields.items() if not name.startswith("_")}
    return _Form(layout.size // 8, fields, named)


def _range(shape: Any) -> tuple[int, int]:
    if shape.signed:
        return -(1 << (shape.width - 1)), (1 << (shape.width - 1)) - 1
    return 0, (1 << shape.width) - 1


def _extract(bits: int, field: _Field) -> int:
    value = (bits >> field.offset) & ((1 << field.width) - 1)
    return value - (1 << field.width) if value > field.high else value
