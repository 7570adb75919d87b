"""Description of a unit, as data: its group, operations and their records, registers, tensors."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from amaranth.lib import data

from adagrain.models.interface.formats import FormatCode

from .operation import Operation
from .register import Register
from .table import Table

if TYPE_CHECKING:
    from adagrain.models.interface.configuration import Configuration

__all__ = ["GROUPS", "SPAN", "Unit", "load"]

#: Groups of opcodes that there are, and the opcodes, or words of registers, of each.
GROUPS, SPAN = 16, 16


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
        return self._table().record.size // 8 // self.item_size

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
        entry, updates = table.record.size // 8, self[table.step].request.items
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
