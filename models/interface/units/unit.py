"""Description of a unit, as data: its group, operations and their records, registers, tensors."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from amaranth.lib import data

from adagrain.models.interface.formats import FormatCode

from .checks import GROUPS, SPAN, check_unit
from .operation import Operation
from .register import Register
from .table import Table

if TYPE_CHECKING:
    from adagrain.models.interface.configuration import Configuration

__all__ = ["GROUPS", "SPAN", "Unit", "load"]


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
    trial : dict of str to int, or None
        Fields, beside those of the tensor, with which the self-test begins passes. A core has such
        passes even without them; a unit with a handler only where they are given, and its golden
        model is a :class:`~adagrain.models.device.tensor_pass.TensorPassModel`.
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
        If gateware, golden model and driver cannot follow from it: the group is out of range, an
        opcode of another one or of two operations, a record no whole number of bytes, two registers
        have one name, or table, passes or sums do not fit the operations; unit and value are named.
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
    trial: dict[str, int] | None = None
    bench: str = ""
    sends: bool = False
    of_device: bool = False

    def __post_init__(self) -> None:
        check_unit(self)

    @property
    def addresses(self) -> dict[str, int]:
        """Number of each register's first word, by name."""
        found, address = {}, self.group * SPAN
        for register in self.registers:
            found[register.name] = address
            address += register.words
        return found

    @property
    def lengths(self) -> dict[str, int]:
        """Bytes of what has to fit a payload, by what it is."""
        found = {}
        for own in self.operations:
            found[f"request {own.opcode.name}"] = own.request.shortest
            found[f"reply {own.opcode.name}"] = own.reply.shortest
        if self.table is not None:
            found["table's record"] = self.table.record.size // 8
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


def load(unit: Unit, place: str) -> Any:
    """The object at a place ``module:name`` that a unit's description names.

    Raises
    ------
    ValueError
        If there is none; unit and place are named.
    """
    module, _, name = place.partition(":")
    try:
        found = import_module(module)
    except (ImportError, ValueError) as error:
        raise ValueError(
            f"unit {unit.name!r} must name a module that can be imported, not {place!r}: {error}"
        ) from error
    if not hasattr(found, name):
        raise ValueError(f"unit {unit.name!r} must name what is in {module}, not {place!r}")
    return getattr(found, name)
