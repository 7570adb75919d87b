"""Elaboration of what drives the registers of a unit."""

from collections.abc import Iterator

from amaranth.hdl import Fragment, Instance, Value
from amaranth.lib import wiring

from adagrain.models.interface.units import Unit

__all__ = ["elaborated"]


def elaborated(component: wiring.Component, unit: Unit, platform: object) -> Fragment:
    """The elaborated component, which drives each of its outputs that is a register of the unit.

    Raises
    ------
    ValueError
        If it assigns nothing to one; register and unit are named.
    """
    fragment = Fragment.get(component, platform)
    driven = {id(signal) for signal in _driven(fragment)}
    for register in unit.registers:
        if register.name not in component.signature.members:
            continue
        if not {id(signal) for signal in _signals(getattr(component, register.name))} <= driven:
            raise ValueError(
                f"register {register.name!r} of unit {unit.name!r} must be driven by "
                f"{type(component).__name__}, which assigns nothing to it"
            )
    return fragment


def _driven(fragment: Fragment) -> Iterator[Value]:
    """Signals that it, or a part of it, assigns."""
    for statements in fragment.statements.values():
        yield from statements._lhs_signals()
    if isinstance(fragment, Instance):
        for value, kind in fragment.ports.values():
            if kind == "o":
                yield from _signals(value)
    for part, _, _ in fragment.subfragments:
        yield from _driven(part)


def _signals(value: Value) -> Iterator[Value]:
    yield from Value.cast(value)._lhs_signals()
