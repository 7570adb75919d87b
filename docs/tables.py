"""Writes `docs/protocol.md`: the tables of all that is declared once and used on both sides."""

import enum
import inspect
import re
from collections.abc import Iterable
from pathlib import Path

from amaranth.hdl import Shape
from amaranth.lib import data

from adagrain.models.interface import protocol, records

PAGE = Path(__file__).with_name("protocol.md")
INTRODUCTION = f"""# Protocol tables

Made by `make docs` from `models/interface/protocol.py` and `models/interface/records.py`; do not
edit. The rules of the link are in [link.md](link.md). Protocol version {protocol.PROTOCOL_VERSION}.
"""


def page() -> str:
    """The whole page."""
    enums = [protocol.Opcode, protocol.Status, protocol.Unit, records.Policy]
    enums += [records.CadencePolicy, records.SpeculationState, records.DecisionStatus]
    layouts = {"Header": protocol.Header}
    layouts |= {
        name: layout
        for name in records.__all__
        if isinstance(layout := getattr(records, name), data.StructLayout)
    }
    sections = [
        _registers(),
        *(_enum(kind) for kind in enums),
        *(_layout(name, layout) for name, layout in layouts.items()),
    ]
    return "\n".join([INTRODUCTION, *sections])


def _registers() -> str:
    rows = (
        (f"{register.address:#04x}", f"`{name}`", register.description)
        for name, register in protocol.REGISTERS.items()
    )
    return _section("Registers", "32 bits each.", ("address", "name", "what it tells"), rows)


def _enum(kind: type[enum.IntEnum]) -> str:
    """An enumeration; what its members mean stands behind them in the source."""
    remarks = dict(re.findall(r"^ +(\w+) = .*?  #:? (.*)$", inspect.getsource(kind), re.MULTILINE))
    rows = ((f"{item:#04x}", f"`{item.name}`", remarks.get(item.name, "")) for item in kind)
    return _section(
        kind.__name__, inspect.getdoc(kind) or "", ("value", "name", "what it means"), rows
    )


def _layout(name: str, layout: data.StructLayout) -> str:
    rows = (
        (str(field.offset), _type(Shape.cast(field.shape)), f"`{key}`")
        for key, field in layout
        if not str(key).startswith("_")
    )
    about = f"{layout.size // 8} bytes, little end first."
    return _section(name, about, ("first bit", "type", "field"), rows)


def _type(shape: Shape) -> str:
    return f"{'signed' if shape.signed else 'unsigned'} {shape.width}"


def _section(title: str, about: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [_row(head), _row("---" for _ in head), *map(_row, rows)]
    return "\n".join([f"## {title}", "", about, "", *lines, ""])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


if __name__ == "__main__":
    PAGE.write_text(page())
