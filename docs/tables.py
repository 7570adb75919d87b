"""Writes `docs/protocol.md`: the tables of all that is declared once and used on both sides."""

import enum
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from amaranth.hdl import Shape
from amaranth.lib import data

from adagrain.models.interface import protocol
from adagrain.models.interface.formats import FormatCode
from adagrain.models.interface.precision import Precision
from adagrain.models.interface.units import UNITS, Payload, Unit

PAGE = Path(__file__).with_name("protocol.md")
INTRODUCTION = f"""# Protocol tables

Made by `make docs` from `models/interface/`; do not edit. The rules of the link are in
[link.md](link.md). Protocol version {protocol.PROTOCOL_VERSION}.

Each unit has a group: the upper half of its opcodes, and of the numbers of its registers. These are
words of 32 bits, long ones two of them, the lower half first; those of units that were not built
read 0. Payloads are records and items in the order in which they are named; `…` is any number of an
item. Records are little end first.
"""


def page() -> str:
    """The whole page."""
    sections = [
        *(_enum(kind) for kind in (protocol.Status, FormatCode, Precision)),
        _layout("Header", protocol.Header),
        *(section for unit in UNITS.values() for section in _unit(unit)),
    ]
    return "\n".join([INTRODUCTION, *sections])


def _unit(unit: Unit) -> Iterator[str]:
    yield f"## `{unit.name}`\n\nGroup {unit.group:#x}: {unit.about}.\n"
    if unit.operations:
        rows = (
            (
                f"{operation.opcode:#04x}",
                f"`{operation.opcode.name}`",
                _payload(unit, operation.request),
                _payload(unit, operation.reply),
                operation.about,
            )
            for operation in unit.operations
        )
        yield _table(("opcode", "operation", "request", "reply", "what it does"), rows)
    if unit.registers:
        rows = (
            (f"{unit.addresses[own.name]:#04x}", f"`{own.name}`", str(own.bits), own.about)
            for own in unit.registers
        )
        yield _table(("first word", "register", "bits", "what it tells"), rows)
    for kind in unit.enums:
        yield _enum(kind, "###")
    for name, layout in unit.records.items():
        yield _layout(name, layout, "###")


def _payload(unit: Unit, payload: Payload) -> str:
    parts = [] if payload.head is None else [_shape(unit, payload.head)]
    if payload.items is not None:
        parts.append(f"{_shape(unit, payload.items)} …")
    return ", ".join(parts)


def _shape(unit: Unit, shape: data.StructLayout | Shape) -> str:
    """A record by its name, else its fields."""
    for name, record in unit.records.items():
        if record is shape:
            return f"`{name}`"
    if isinstance(shape, data.StructLayout):
        return ", ".join(f"`{key}` {_type(Shape.cast(field.shape))}" for key, field in shape)
    return _type(Shape.cast(shape))


def _enum(kind: type[enum.IntEnum], level: str = "##") -> str:
    """An enumeration; what its members mean stands behind them in the source."""
    remarks = dict(re.findall(r"^ +(\w+) = .*?  #:? (.*)$", inspect.getsource(kind), re.MULTILINE))
    rows = ((f"{item:#04x}", f"`{item.name}`", remarks.get(item.name, "")) for item in kind)
    table = _table(("value", "name", "what it means"), rows)
    return f"{level} {kind.__name__}\n\n{inspect.getdoc(kind) or ''}\n\n{table}"


def _layout(name: str, layout: data.StructLayout, level: str = "##") -> str:
    rows = (
        (str(field.offset), _type(Shape.cast(field.shape)), f"`{key}`")
        for key, field in layout
        if not str(key).startswith("_")
    )
    table = _table(("first bit", "type", "field"), rows)
    return f"{level} {name}\n\n{layout.size // 8} bytes.\n\n{table}"


def _type(shape: Shape) -> str:
    return f"{'signed' if shape.signed else 'unsigned'} {shape.width}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join([_row(head), _row("---" for _ in head), *map(_row, rows), ""])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


if __name__ == "__main__":
    PAGE.write_text(page())
