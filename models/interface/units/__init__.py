"""The units that there are, each declared once.

:data:`UNITS` has those of the project; :func:`declare` adds one from outside. The modules that
the environment variable ``ADAGRAIN_UNITS`` names, separated by commas, are imported behind them, to
declare theirs.
"""

import os
from collections.abc import Iterator
from importlib import import_module

from .decoder import DECODER
from .difference import DIFFERENCE
from .encoder import ENCODER
from .granularity_unit import GRANULARITY_UNIT
from .operation import Operation, Payload
from .precision_controller import PRECISION_CONTROLLER
from .region_manager import REGION_MANAGER
from .register import Register
from .statistics import STATISTICS
from .system import LINE, LINK, SYSTEM
from .table import Table
from .tensor_input import TENSOR_INPUT
from .unit import Unit, load

__all__ = [
    "ALWAYS",
    "DECODER",
    "DIFFERENCE",
    "ENCODER",
    "GRANULARITY_UNIT",
    "LINE",
    "LINK",
    "STATISTICS",
    "SYSTEM",
    "TENSOR_INPUT",
    "UNITS",
    "Operation",
    "Payload",
    "Register",
    "Table",
    "Unit",
    "addresses",
    "declare",
    "load",
    "registers",
    "unit_of",
]

#: By name, in the order of their groups.
UNITS: dict[str, Unit] = {}

#: Those that every device has.
ALWAYS = ("system", "tensor_input", "link", "line")

#: Most tensors that the tensor input brings for one operation.
_TENSORS = 2


def declare(unit: Unit) -> Unit:
    """Make a unit known, so that configurations may name it; the unit.

    Raises
    ------
    ValueError
        If another unit has its name or its group, or a register of the same name, it takes more
        tensors than the tensor input brings, or needs a unit that is not there; unit and value are
        named.
    """
    for other in UNITS.values():
        if other is unit:
            return unit
        for what in ("name", "group"):
            if getattr(other, what) == getattr(unit, what):
                raise ValueError(
                    f"{what} of unit {unit.name!r} must be its own, not {getattr(unit, what)!r}, "
                    f"which {other.name!r} has"
                )
        names = {register.name for register in other.registers}
        for register in unit.registers:
            if register.name in names:
                raise ValueError(
                    f"register of unit {unit.name!r} must have a name of its own, not "
                    f"{register.name!r}, which {other.name!r} has"
                )
    if len(unit.tensors) > _TENSORS:
        raise ValueError(
            f"unit {unit.name!r} must take at most {_TENSORS} tensors at once, "
            f"not {len(unit.tensors)}"
        )
    if unknown := [need for need in unit.needs if need not in UNITS]:
        raise ValueError(f"unit {unit.name!r} must need units that there are, not {unknown[0]!r}")
    UNITS[unit.name] = unit
    ordered = sorted(UNITS.values(), key=lambda own: own.group)
    UNITS.clear()
    UNITS.update({own.name: own for own in ordered})
    return unit


def unit_of(opcode: int) -> Unit | None:
    """The unit of an opcode's group, if there is one."""
    return next((unit for unit in UNITS.values() if unit.group == opcode >> 4), None)


def registers() -> Iterator[tuple[int, Unit, Register]]:
    """All registers: the number of its first word, the unit, and what it is."""
    for unit in UNITS.values():
        for register in unit.registers:
            yield unit.addresses[register.name], unit, register


def addresses() -> dict[str, int]:
    """Number of the first word of each register, by name."""
    return {register.name: address for address, _, register in registers()}


for _unit in (
    SYSTEM,
    STATISTICS,
    REGION_MANAGER,
    GRANULARITY_UNIT,
    PRECISION_CONTROLLER,
    DIFFERENCE,
    ENCODER,
    DECODER,
    TENSOR_INPUT,
    LINK,
    LINE,
):
    declare(_unit)

for _module in filter(None, os.environ.get("ADAGRAIN_UNITS", "").split(",")):
    import_module(_module.strip())
