"""Values some cycles later."""

from amaranth.hdl import Module, Signal, Value, unsigned

__all__ = ["delayed"]


def delayed(m: Module, value: Value, cycles: int) -> Value:
    """A value some cycles later, in registers without reset."""
    for _ in range(cycles):
        later = Signal(unsigned(len(value)), name="later", reset_less=True)
        m.d.sync += later.eq(value)
        value = later
    return value
