"""Payloads of streams as Python values: integers, and dicts and lists of them.

Simulators see a structured payload as one plain number. These functions translate by the
payload's shape: a :class:`~amaranth.lib.data.StructLayout` (or a ``Struct``) is a dict by field
name, an ``ArrayLayout`` a list, everything else an integer.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from amaranth.hdl import Shape, ShapeCastable
from amaranth.lib import data

__all__ = ["Array", "Form", "Number", "Struct", "decode", "encode", "form_of"]


class Number(NamedTuple):
    """The form of an integer."""

    width: int
    low: int
    high: int

    def encode(self, value: Any) -> int:
        """As :func:`encode`."""
        number = int(value)
        if not self.low <= number <= self.high:
            raise ValueError(f"value must be from {self.low} to {self.high}, not {number}")
        return number & ((1 << self.width) - 1)

    def decode(self, bits: int) -> int:
        """As :func:`decode`."""
        bits &= (1 << self.width) - 1
        return bits - (1 << self.width) if bits > self.high else bits


class Part(NamedTuple):
    """A field: its first bit, and its form."""

    offset: int
    form: "Form"


class Struct(NamedTuple):
    """The form of a dict."""

    fields: Mapping[str, Part]

    def pairs(self, value: Mapping[str, Any]) -> Iterable[tuple[Part, Any]]:
        """The fields that it has, each with its own.

        Raises
        ------
        ValueError
            If a field does not exist.
        """
        if unknown := ", ".join(map(str, value.keys() - self.fields.keys())):
            raise ValueError(f"fields must be of {', '.join(map(str, self.fields))}, not {unknown}")
        return [(self.fields[name], item) for name, item in value.items()]

    def encode(self, value: Mapping[str, Any]) -> int:
        """As :func:`encode`."""
        return sum([part.form.encode(item) << part.offset for part, item in self.pairs(value)])

    def decode(self, bits: int) -> dict[str, Any]:
        """As :func:`decode`."""
        return {name: form.decode(bits >> at) for name, (at, form) in self.fields.items()}


class Array(NamedTuple):
    """The form of a list."""

    elements: Sequence[Part]

    def pairs(self, value: Sequence[Any]) -> Iterable[tuple[Part, Any]]:
        """The elements, each with its own.

        Raises
        ------
        ValueError
            If the list has the wrong length.
        """
        if len(value) != len(self.elements):
            raise ValueError(f"array must have {len(self.elements)} elements, not {len(value)}")
        return zip(self.elements, value, strict=True)

    def encode(self, value: Sequence[Any]) -> int:
        """As :func:`encode`."""
        return sum([part.form.encode(item) << part.offset for part, item in self.pairs(value)])

    def decode(self, bits: int) -> list[Any]:
        """As :func:`decode`."""
        return [form.decode(bits >> at) for at, form in self.elements]


Form = Number | Struct | Array


def encode(shape: Any, value: Any) -> int:
    """The bits of a value, as an unsigned number. Fields that a dict leaves out are 0.

    Raises
    ------
    ValueError
        If a field does not exist, a list has the wrong length, or a number does not fit.
    """
    return form_of(shape).encode(value)


def decode(shape: Any, bits: int) -> Any:
    """The value that some bits stand for; :func:`encode`'s inverse."""
    return form_of(shape).decode(bits)


@cache
def form_of(shape: Any) -> Form:
    """A shape, looked up once: amaranth finds sizes and offsets anew whenever it is asked."""
    if isinstance(shape, ShapeCastable) and isinstance(inner := shape.as_shape(), data.Layout):
        shape = inner
    if isinstance(shape, data.StructLayout):
        return Struct({str(name): _part(field) for name, field in shape})
    if isinstance(shape, data.ArrayLayout):
        return Array([_part(field) for _, field in shape])
    number = Shape.cast(shape)
    low = -(1 << (number.width - 1)) if number.signed else 0
    return Number(number.width, low, low + (1 << number.width) - 1)


def _part(field: data.Field) -> Part:
    return Part(field.offset, form_of(field.shape))
