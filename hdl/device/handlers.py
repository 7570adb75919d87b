"""The handlers of a device: those of every device, and one for each unit that was built."""

from amaranth.lib import wiring

from adagrain.hdl.tensor_input import TensorInput
from adagrain.hdl.tensor_input.pass_commands import PassCommands
from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.units import SYSTEM, TENSOR_INPUT, Unit
from adagrain.models.interface.units.unit import load

from .system import SystemCommands

__all__ = ["handlers"]


def handlers(configuration: Configuration, *, starvation: int) -> dict[Unit, wiring.Component]:
    """By unit, in the order of their groups.

    Parameters
    ----------
    starvation : int
        Cycles for which the data port may offer nothing while a pass needs data.

    Raises
    ------
    ValueError
        If a handler has other operations than its unit, no output for a register of it, or no
        ``o_data`` where that sends.
    """
    found: dict[Unit, wiring.Component] = {}
    for unit in configuration.built():
        if unit is SYSTEM:
            found[unit] = SystemCommands(configuration)
        elif unit is TENSOR_INPUT:
            users = sum(bool(user.tensors) for user in configuration.built())
            found[unit] = TensorInput(configuration, users, starvation=starvation)
        elif unit.core:
            found[unit] = PassCommands(configuration, unit)
        elif unit.gateware:
            found[unit] = load(unit, unit.gateware)(configuration)
            _check_ports(unit, found[unit])
    for unit, handler in found.items():
        _check_operations(unit, handler)
    return found


def _check_operations(unit: Unit, handler: wiring.Component) -> None:
    """Make sure that a handler has the operations of its unit, and no others."""
    kind, opcodes = type(handler).__name__, getattr(handler, "opcodes", None)
    if opcodes is None:
        raise ValueError(
            f"handler of unit {unit.name!r} must tell its opcodes, but {kind} has no opcodes"
        )
    for operation in unit.operations:
        if operation.opcode not in opcodes:
            raise ValueError(
                f"operation {operation.opcode.name} of unit {unit.name!r} must have a handler, but "
                f"{kind} has none for {operation.opcode:#04x}"
            )
    for opcode in opcodes:
        if unit.operation(opcode) is None:
            raise ValueError(
                f"opcodes of {kind} must be operations of unit {unit.name!r}, not {opcode:#04x}"
            )


def _check_ports(unit: Unit, handler: wiring.Component) -> None:
    """Make sure that a handler has the outputs that the description of its unit asks for."""
    if unit.sends and "o_data" not in handler.signature.members:
        raise ValueError(
            f"unit {unit.name!r} must send by an output o_data of {type(handler).__name__}, which "
            "has none of that name"
        )
    for register in unit.registers:
        if register.constant is None and register.name not in handler.signature.members:
            raise ValueError(
                f"register {register.name!r} of unit {unit.name!r} must be an output of "
                f"{type(handler).__name__}, which has none of that name"
            )
