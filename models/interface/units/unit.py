"""Description of a unit, as data: its group, operations and their records, registers, tensors."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from amaranth.hdl import Shape
from amaranth.lib import data

from adagrain.models.interface.formats import FormatCode

from .table import Table

if TYPE_CHECKING:
    from adagrain.models.interface.configuration import Configuration

__all__ = ["GROUPS", "SPAN", "Operation", "Payload", "Register", "Unit", "load"]

#: Groups of opcodes that there are, and the opcodes, or words of registers, of each.
GROUPS, SPAN = 16, 16


@dataclass(frozen=True)
class Payload:
    """Bytes of a request or of a reply: a record, then any number of items, either of them or none.

    Parameters
    ----------
    head : StructLayout or None
        Record at its beginning.
    items : ShapeLike or None
        What follows, any number of times.
    least : int
        Fewest items.

    Raises
    ------
    ValueError
        If the record, or an item, is no whole number of bytes.
    """

    head: data.StructLayout | None = None
    items: Any = None
    least: int = 0

    def __post_init__(self) -> None:
        for name, shape in (("record", self.head), ("item", self.items)):
            if shape is not None and _bits(shape) % 8:
                raise ValueError(f"{name} must be whole bytes long, not {_bits(shape)} bits")

    @property
    def record(self) -> data.StructLayout:
        """The record at its beginning.

        Raises
        ------
        ValueError
            If there is none.
        """
        if self.head is None:
            raise ValueError("payload must begin with a record, but it has none")
        return self.head

    @property
    def head_size(self) -> int:
        """Bytes of the record."""
        return 0 if self.head is None else _bits(self.head) // 8

    @property
    def item_size(self) -> int:
        """Bytes of an item; 0 where there are none."""
        return 0 if self.items is None else _bits(self.items) // 8

    def fits(self, length: int) -> bool:
        """True where so many bytes can be such a payload."""
        rest = length - self.head_size
        if self.items is None:
            return rest == 0
        return rest >= self.least * self.item_size and rest % self.item_size == 0


@dataclass(frozen=True)
class Operation:
    """An operation that a request may ask a unit for.

    Parameters
    ----------
    opcode : IntEnum
        Its number, whose upper half is the unit's group, and its name.
    request, reply : Payload
        What travels to the device, and back where the status is OK.
    about : str
        What it does.

    Raises
    ------
    ValueError
        If a request has items of a size that is no power of two: a device counts them by a shift.
    """

    opcode: enum.IntEnum
    request: Payload
    reply: Payload
    about: str

    def __post_init__(self) -> None:
        size = self.request.item_size
        if size & (size - 1):
            raise ValueError(
                f"items of {self.opcode.name} must be a power of two bytes long, not {size}"
            )


@dataclass(frozen=True)
class Register:
    """A number that the host may read.

    Parameters
    ----------
    name : str
        By which the unit's gateware drives it, and the host names it.
    about : str
        What it tells, with its unit.
    bits : int
        32, or 64: then its lower and its upper half are two words that follow each other.
    constant : callable or None
        Its value in a build of a configuration, where that is all it depends on.
    clocked : bool
        Counts clock cycles, which a golden model does not have: there it reads 0.
    sums : str
        Field of the unit's record which it adds up over all passes that have ended, if it does.

    Raises
    ------
    ValueError
        If it has another number of bits.
    """

    name: str
    about: str
    bits: int = 32
    constant: Callable[[Configuration], int] | None = None
    clocked: bool = False
    sums: str = ""

    def __post_init__(self) -> None:
        if self.bits not in (32, 64):
            raise ValueError(f"register {self.name} must have 32 or 64 bits, not {self.bits}")

    @property
    def words(self) -> int:
        """Words of 32 bits."""
        return self.bits // 32


@dataclass(frozen=True, eq=False)
class Unit:
    """A unit of a device, declared once; gateware, golden model, driver and pages follow from it.

    Parameters
    ----------
    name : str
        The same in ``hdl``, ``models``, ``sim``, ``tests``.
    group : int
        Upper half of its opcodes, and of the addresses of its registers; its bit in the register
        ``units``.
    about : str
        What it does, in a line.
    operations : tuple of Operation
        What it can be asked for.
    registers : tuple of Register
        What it tells; at most 16 words.
    records : dict of str to StructLayout
        Its records by name.
    enums : tuple of IntEnum classes
        What numbers in its records mean.
    table : Table or None
        The table that it keeps, if it does.
    tensors : tuple of str
        Names of the tensors that an operation of it takes from the device's tensor input.
    needs : tuple of str
        Units without which it cannot be built.
    formats : tuple of FormatCode
        Formats of elements without which it cannot be built.
    passes : (IntEnum, IntEnum) or None
        Opcodes of the requests that begin and end a pass over its tensors.
    gateware, twin : str
        ``module:class`` of its handler of requests and of that one's golden model.
    core : str
        ``module:class`` of the component that takes its tensors, where it has no other requests
        than those of ``passes``: then its handler needs no gateware of its own.
    trial : dict of str to int
        Fields, beside those of the tensor, with which the self-test begins passes of a core.
    bench : str
        Package of its bench, with ``VARIANTS`` and a module ``bench``, where it is not of the
        project.
    sends : bool
        Its results may leave by the data port: its handler has ``o_data``.
    of_device : bool
        A part that every device has, which makes the handler itself.

    Raises
    ------
    ValueError
        If the group is out of range, an opcode is of another one, registers are too many, or the
        table does not fit the operations.
    """

    name: str
    group: int
    about: str
    operations: tuple[Operation, ...] = ()
    registers: tuple[Register, ...] = ()
    records: dict[str, data.StructLayout] = field(default_factory=dict)
    enums: tuple[type[enum.IntEnum], ...] = ()
    table: Table | None = None
    tensors: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    formats: tuple[FormatCode, ...] = ()
    passes: tuple[enum.IntEnum, enum.IntEnum] | None = None
    gateware: str = ""
    core: str = ""
    twin: str = ""
    trial: dict[str, int] = field(default_factory=dict)
    bench: str = ""
    sends: bool = False
    of_device: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.group < GROUPS:
            raise ValueError(
                f"group of {self.name} must be from 0 to {GROUPS - 1}, not {self.group}"
            )
        for operation in self.operations:
            if operation.opcode >> 4 != self.group:
                raise ValueError(
                    f"opcode {operation.opcode.name} of {self.name} must be of group "
                    f"{self.group:#x}, not {operation.opcode:#04x}"
                )
        has_handler = bool(self.operations) and not self.of_device
        if (bool(self.gateware or self.core), bool(self.twin)) != (has_handler, has_handler):
            raise ValueError(f"{self.name} must have a handler and a twin for its operations")
        if self.table is not None:
            self._check_table(self.table)
        words = sum(register.words for register in self.registers)
        if words > SPAN:
            raise ValueError(f"registers of {self.name} must be at most {SPAN} words, not {words}")
        for name, record in self.records.items():
            if record.size % 8:
                raise ValueError(
                    f"record {name} of {self.name} must be whole bytes long, not {record.size} bits"
                )

    @property
    def addresses(self) -> dict[str, int]:
        """Number of each register's first word, by name."""
        found, address = {}, self.group * SPAN
        for register in self.registers:
            found[register.name] = address
            address += register.words
        return found

    def __getitem__(self, opcode: int) -> Operation:
        """The operation of that number."""
        return {int(own.opcode): own for own in self.operations}[opcode]

    @property
    def item(self) -> Any:
        """Shape of what its table is written and read in."""
        return self.read.reply.items

    @property
    def item_size(self) -> int:
        """Bytes of an item of its table."""
        return self.write.request.item_size

    @property
    def items_per_entry(self) -> int:
        """Items that make up an entry of its table."""
        return _bits(self._table().record) // 8 // self.item_size

    def items(self, configuration: Configuration) -> int:
        """Items of its table in a build of a configuration."""
        return self._table().entries(configuration) * self.items_per_entry

    @property
    def write(self) -> Operation:
        """The request that writes items of its table."""
        return self[self._table().write]

    @property
    def read(self) -> Operation:
        """The request that reads items of its table."""
        return self[self._table().read]

    @property
    def step(self) -> Operation:
        """The request that has entries of its table decided."""
        return self[self._table().step]

    @property
    def settings(self) -> Operation | None:
        """The request that sets what holds for all entries of its table, if there is one."""
        opcode = self._table().settings
        return None if opcode is None else self[opcode]

    def _table(self) -> Table:
        if self.table is None:
            raise ValueError(f"unit {self.name!r} must keep a table, but it has none")
        return self.table

    def _check_table(self, table: Table) -> None:
        """Make sure that its operations can write and read it, and decide on it."""
        for name in ("write", "read", "step"):
            if self.operation(getattr(table, name)) is None:
                raise ValueError(
                    f"{name} of the table of {self.name} must be an operation of it, "
                    f"not {getattr(table, name)!r}"
                )
        written, read = self[table.write].request.item_size, self[table.read].reply.item_size
        entry, updates = _bits(table.record) // 8, self[table.step].request.items
        if not written or written != read or entry % written:
            raise ValueError(
                f"record of the table of {self.name}, {entry} bytes, must be written and read in "
                f"whole items of one size, not of {written} and of {read} bytes"
            )
        if updates is None or table.number not in dict(updates):
            raise ValueError(
                f"updates of the table of {self.name} must have a field {table.number!r}"
            )

    @property
    def begin(self) -> Operation:
        """The request that begins a pass over its tensors.

        Raises
        ------
        ValueError
            If it takes none.
        """
        return self[self._passes()[0]]

    @property
    def end(self) -> Operation:
        """The request that ends a pass; errors as those of :attr:`begin`."""
        return self[self._passes()[1]]

    def _passes(self) -> tuple[enum.IntEnum, enum.IntEnum]:
        if self.passes is None:
            raise ValueError(f"unit {self.name!r} must name the requests of its passes")
        return self.passes

    def operation(self, opcode: int) -> Operation | None:
        """The operation of that number, if there is one."""
        return next((own for own in self.operations if own.opcode == opcode), None)


def load(place: str) -> Any:
    """The object at a place ``module:name``."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _bits(shape: Any) -> int:
    return Shape.cast(shape).width
