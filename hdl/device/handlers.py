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
        If a handler does not drive a register of its unit, or has no ``o_data`` where that sends.
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
            found[unit] = load(unit.gateware)(configuration)
            _check(unit, found[unit])
    return found


def _check(unit: Unit, handler: wiring.Component) -> None:
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
