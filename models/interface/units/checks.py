"""Checks of a unit's description: whoever writes one that cannot be is told at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from amaranth.hdl import Shape
from amaranth.lib import data

from .operation import Operation, Payload
from .ranges import First, Range
from .tensor_fields import TENSOR_FIELDS

if TYPE_CHECKING:
    from .table import Table
    from .unit import Unit

__all__ = ["GROUPS", "SPAN", "check_unit"]

#: Groups of opcodes that there are, and the opcodes, or words of registers, of each.
GROUPS, SPAN = 16, 16

#: What a handler has beside its registers, and what a core has.
_OF_HANDLER = ("handler", "tensor", "o_data", "opcodes", "signature", "elaborate")
_OF_CORE = ("i_begin", "i", "o", "refusal")


def check_unit(unit: Unit) -> None:
    """Make sure that gateware, golden model and driver can follow from a description.

    Raises
    ------
    ValueError
        If they cannot; unit and value are named.
    """
    if not 0 <= unit.group < GROUPS:
        raise ValueError(f"group of {unit.name} must be from 0 to {GROUPS - 1}, not {unit.group}")
    _check_operations(unit)
    _check_records(unit)
    if unit.table is not None:
        _check_table(unit, unit.table)
    _check_passes(unit)
    _check_registers(unit)


def _check_operations(unit: Unit) -> None:
    """Make sure that opcodes are its own, and that something answers."""
    for operation in unit.operations:
        if operation.opcode >> 4 != unit.group:
            raise ValueError(
                f"opcode {operation.opcode.name} of {unit.name} must be of group "
                f"{unit.group:#x}, not {operation.opcode:#04x}"
            )
    if twice := _twice(int(operation.opcode) for operation in unit.operations):
        raise ValueError(
            f"opcode {twice[0]:#04x} of {unit.name} must be of one operation, not of two"
        )
    has_handler = bool(unit.operations) and not unit.of_device
    if (bool(unit.gateware or unit.core), bool(unit.twin)) != (has_handler, has_handler):
        raise ValueError(f"{unit.name} must have a handler and a twin for its operations")


def _check_records(unit: Unit) -> None:
    """Make sure that whatever travels is whole bytes long; a device counts items by a shift."""
    for name, record in unit.records.items():
        if record.size % 8:
            raise ValueError(
                f"record {name} of {unit.name} must be whole bytes long, not {record.size} bits"
            )
    for operation in unit.operations:
        for part, payload in (("request", operation.request), ("reply", operation.reply)):
            for name, bits in _sizes(payload):
                if bits % 8:
                    raise ValueError(
                        f"{name} of the {part} {operation.opcode.name} of {unit.name} must be "
                        f"whole bytes long, not {bits} bits"
                    )
        size = operation.request.item_size
        if size & (size - 1):
            raise ValueError(
                f"items of the request {operation.opcode.name} of {unit.name} must be a power of "
                f"two bytes long, not {size}"
            )


def _check_table(unit: Unit, table: Table) -> None:
    """Make sure that its operations can write and read a table, and decide on it."""
    for name in ("write", "read", "step", "settings"):
        opcode = getattr(table, name)
        if unit.operation(opcode) is None and (name != "settings" or opcode is not None):
            raise ValueError(
                f"{name} of the table of {unit.name} must be an operation of it, not {opcode!r}"
            )
    write, read, step = unit[table.write], unit[table.read], unit[table.step]
    _check_head(unit, write, First, "First")
    _check_head(unit, read, Range, "Range")
    if unit.settings is not None:
        _check_alone(unit, "request", unit.settings)
    if step.reply.head is not None or step.reply.items is None:
        raise ValueError(
            f"reply {step.opcode.name} of {unit.name} must be decisions alone, "
            f"not {_told(step.reply)}"
        )
    _check_entries(unit, table)
    updates = step.request.items
    if updates is None or table.number not in dict(updates):
        raise ValueError(f"updates of the table of {unit.name} must have a field {table.number!r}")
    longest, decision = step.request.item_size, step.reply.item_size
    if decision > longest:  # a step that fills a frame would have a reply that none holds
        raise ValueError(
            f"decisions of the table of {unit.name} must be no longer than updates, "
            f"{longest} bytes, not {decision}"
        )


def _check_entries(unit: Unit, table: Table) -> None:
    """Make sure that an entry is whole items, as many as one read can ask for."""
    written, sent = unit[table.write].request.item_size, unit[table.read].reply.item_size
    entry = table.record.size // 8
    if not written or written != sent or entry % written:
        raise ValueError(
            f"record of the table of {unit.name}, {entry} bytes, must be written and read in "
            f"whole items of one size, not of {written} and of {sent} bytes"
        )
    items, most = entry // written, (1 << Shape.cast(Range["count"].shape).width) - 1
    if items > most:
        raise ValueError(
            f"entry of the table of {unit.name} must be at most {most} items, not {items}"
        )


def _check_passes(unit: Unit) -> None:
    """Make sure that the tensor input can bring it tensors, if it takes any."""
    if unit.passes is None:
        if unit.tensors or unit.core:
            raise ValueError(f"{unit.name} must name the requests of its passes, not None")
        return
    if not unit.tensors:
        raise ValueError(f"{unit.name} must name the tensors that its passes take, not none")
    for opcode in unit.passes:
        if unit.operation(opcode) is None:
            raise ValueError(f"passes of {unit.name} must be operations of it, not {opcode!r}")
    if unit.passes[0] == unit.passes[1]:
        raise ValueError(
            f"passes of {unit.name} must begin and end with two operations, "
            f"not with {unit.passes[0].name}"
        )
    for operation in unit.operations if unit.core else ():
        if operation.opcode not in unit.passes:
            raise ValueError(
                f"operations of {unit.name} must be those of its passes, since it has no handler "
                f"but a core, not {operation.opcode.name}"
            )
    begin, end = unit.begin, unit.end
    fields = [(name, field.shape) for name, field in begin.request.head or ()]
    first, names = fields[: len(TENSOR_FIELDS)], [name for name, _ in fields]
    if first != list(TENSOR_FIELDS.items()) or "from_link" not in names:
        raise ValueError(
            f"record of the request {begin.opcode.name} of {unit.name} must begin with "
            f"TENSOR_FIELDS and have from_link, not be of {', '.join(names) or 'nothing'}"
        )
    if (bits := Shape.cast(dict(fields)["from_link"]).width) != 1:
        raise ValueError(
            f"from_link of the request {begin.opcode.name} of {unit.name} must be one bit, "
            f"not {bits}"
        )
    _check_alone(unit, "reply", end)
    _check_empty(unit, "request", end)
    if unit.core:
        if unit.sends:
            raise ValueError(
                f"{unit.name} must send by a handler of its own, gateware, not by a core"
            )
        _check_alone(unit, "request", begin)
        _check_empty(unit, "reply", begin)


def _check_head(unit: Unit, operation: Operation, layout: data.StructLayout, name: str) -> None:
    """Make sure that a request of a table says which entries it means."""
    if operation.request.head != layout:
        raise ValueError(
            f"request {operation.opcode.name} of {unit.name} must begin with {name}, "
            f"not be {_told(operation.request)}"
        )


def _check_alone(unit: Unit, part: str, operation: Operation) -> None:
    """Make sure that a request or a reply is a record of some fields, and nothing else."""
    payload = getattr(operation, part)
    if not payload.head_size or payload.items is not None:
        raise ValueError(
            f"{part} {operation.opcode.name} of {unit.name} must be a record of some bytes alone, "
            f"not {_told(payload)}"
        )


def _check_empty(unit: Unit, part: str, operation: Operation) -> None:
    """Make sure that nothing travels in a request or a reply."""
    payload = getattr(operation, part)
    if payload != Payload():
        raise ValueError(
            f"{part} {operation.opcode.name} of {unit.name} must be empty, not {_told(payload)}"
        )


def _check_registers(unit: Unit) -> None:
    """Make sure that each has a place and a name, and can sum what it shall."""
    words = sum(register.words for register in unit.registers)
    if words > SPAN:
        raise ValueError(f"registers of {unit.name} must be at most {SPAN} words, not {words}")
    if twice := _twice(register.name for register in unit.registers):
        raise ValueError(f"register {twice[0]!r} of {unit.name} must be one, not two")
    fields = dict(unit.end.reply.record) if unit.passes else {}
    taken = (*_OF_HANDLER, *(_OF_CORE if unit.core else ()))
    for register in unit.registers:
        if register.name in taken:
            raise ValueError(
                f"register of {unit.name} must be named unlike what its gateware has, "
                f"{', '.join(taken)}, not {register.name!r}"
            )
        if register.sums and register.constant:
            raise ValueError(
                f"register {register.name!r} of {unit.name} must sum {register.sums!r} or be "
                "constant, not both"
            )
        if register.sums and register.sums not in fields:
            raise ValueError(
                f"register {register.name!r} of {unit.name} must sum a field of the record that "
                f"ends its passes, not {register.sums!r}"
            )


def _sizes(payload: Payload) -> Iterator[tuple[str, int]]:
    """Bits of the parts of a payload."""
    for name, shape in (("record", payload.head), ("items", payload.items)):
        if shape is not None:
            yield name, Shape.cast(shape).width


def _told(payload: Payload) -> str:
    """Parts of a payload, for messages."""
    parts = [f"{name} of {bits // 8} bytes" for name, bits in _sizes(payload)]
    return " and ".join(parts) or "empty"


def _twice(values: Iterable[Any]) -> list[Any]:
    """Those that come again."""
    every = list(values)
    return [value for number, value in enumerate(every) if value in every[:number]]
