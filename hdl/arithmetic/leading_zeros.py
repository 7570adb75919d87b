"""Place of the highest bit that is set."""

from amaranth.hdl import Cat, Mux, Value

__all__ = ["leading_zeros"]


def leading_zeros(value: Value) -> Value:
    """Zeros above the highest bit that is set, by halves; all ones where none is."""
    if len(value) == 2:
        return ~value[1]
    half = len(value) // 2
    none_high = ~value[half:].any()
    below = Mux(none_high, leading_zeros(value[:half]), leading_zeros(value[half:]))
    return Cat(below, none_high)
