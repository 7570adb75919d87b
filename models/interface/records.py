"""Records that cross the boundary between gateware and host: one codec for all of them.

A record is an :mod:`amaranth.lib.data` layout, little end first, a whole number of bytes long:
gateware instantiates it as a signal, the host packs and unpacks it here.
"""

import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, NoReturn, TypeVar

from amaranth.lib import data

__all__ = ["complete", "pack", "size", "unpack", "unpack_all"]

_Made = TypeVar("_Made")


class _Field(NamedTuple):
    """Place and range of a field."""

    offset: int
    width: int
    low: int
    high: int


class _Form(NamedTuple):
    """A layout, looked up once: amaranth finds sizes and offsets anew whenever it is asked.

    Members
    -------
    zeros : dict of str to int
        All fields, empty.
    join, complete : callable
        Fields as one integer, or as they are, as Python's integers; ``None`` if one does not fit.
    split, split_named : callable
        All fields of such an integer, or those that are not reserved.
    """

    size: int
    fields: dict[str, _Field]
    zeros: dict[str, int]
    join: Callable[[Mapping[str, int]], int | None]
    complete: Callable[[Mapping[str, int]], dict[str, int] | None]
    split: Callable[[int], dict[str, int]]
    split_named: Callable[[int], dict[str, int]]


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
    return _fitting(form, form.join, fields).to_bytes(form.size, "little")


def complete(layout: data.Layout, **fields: int) -> dict[str, int]:
    """All fields of the record that :func:`pack` would make, reserved ones too.

    Raises
    ------
    TypeError, ValueError
        As :func:`pack`.
    """
    form = _form(layout)
    return _fitting(form, form.complete, fields)


def unpack(layout: data.Layout, raw: bytes, *, reserved: bool = False) -> dict[str, int]:
    """The fields of a record by name; reserved ones too, if they are asked for.

    Raises
    ------
    ValueError
        If there are not exactly :func:`size` bytes.
    """
    form = _form(layout)
    if len(raw) != form.size:
        raise ValueError(f"record must be {form.size} bytes long, not {len(raw)}")
    split = form.split if reserved else form.split_named
    return split(int.from_bytes(raw, "little"))


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
    return _Form(
        layout.size // 8,
        fields,
        dict.fromkeys(fields, 0),
        _joining(fields),
        _completing(fields),
        _splitting(fields),
        _splitting(named),
    )


def _fitting(
    form: _Form, compiled: Callable[[Mapping[str, int]], _Made | None], fields: Mapping[str, int]
) -> _Made:
    """Result of compiled code, of the fields and of 0 for those that are not named."""
    if not form.zeros.keys() >= fields.keys():
        _refuse(form, fields)
    try:
        made = compiled({**form.zeros, **fields})
    except TypeError:
        made = None
    if made is None:
        _refuse(form, fields)
    return made


def _joining(fields: Mapping[str, _Field]) -> Callable[[Mapping[str, int]], int | None]:
    bits = [f"(x{n} & {(1 << f.width) - 1}) << {f.offset}" for n, f in enumerate(fields.values())]
    return _compiled(" | ".join(bits) or "0", fields)


def _completing(fields: Mapping[str, _Field]) -> Callable[[Mapping[str, int]], Any]:
    rows = [f"{name!r}: x{n}" for n, name in enumerate(fields)]
    return _compiled(f"{{{', '.join(rows)}}}", fields)


def _compiled(made: str, fields: Mapping[str, _Field]) -> Callable[[Mapping[str, int]], Any]:
    """Compiled: a loop over the fields takes three times as long, and steps pack many records.

    Parameters
    ----------
    made : str
        What is made of the fields, which are named by their places: x0, x1 …
    fields : mapping
        The fields; ``None`` is made where one does not fit.
    """
    rows = enumerate(fields.items())
    fits = [f"{f.low} <= (x{n} := index(given[{name!r}])) <= {f.high}" for n, (name, f) in rows]
    source = f"lambda given: ({made}) if {' and '.join(fits) or True} else None"
    return eval(source, {"index": operator.index})


def _splitting(fields: Mapping[str, _Field]) -> Callable[[int], dict[str, int]]:
    """Compiled, as :func:`_joining`; the sign bit of a signed number counts negative."""
    rows = [
        f"{name!r}: (bits >> {f.offset} & {(1 << f.width) - 1} ^ {-f.low}) + {f.low}"
        if f.low
        else f"{name!r}: bits >> {f.offset} & {(1 << f.width) - 1}"
        for name, f in fields.items()
    ]
    return eval(f"lambda bits: {{{', '.join(rows)}}}")


def _refuse(form: _Form, fields: Mapping[str, Any]) -> NoReturn:
    """Say what does not fit."""
    for name, value in fields.items():
        field = form.fields.get(name)
        if field is None:
            known = ", ".join(name for name in form.fields if not name.startswith("_"))
            raise ValueError(f"field must be one of {known}, not {name!r}")
        try:
            number = operator.index(value)
        except TypeError:
            raise TypeError(f"{name} must be an integer, not {value!r}") from None
        if not field.low <= number <= field.high:
            raise ValueError(f"{name} must be from {field.low} to {field.high}, not {number}")
    raise AssertionError("all fields fit")


def _range(shape: Any) -> tuple[int, int]:
    if shape.signed:
        return -(1 << (shape.width - 1)), (1 << (shape.width - 1)) - 1
    return 0, (1 << shape.width) - 1
