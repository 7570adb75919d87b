"""Bit rates as steps of a fractional accumulator."""

from adagrain.hdl.checks import check_rate

__all__ = ["ACCUMULATOR_BITS", "FRAME_BITS", "step_per_cycle"]

#: Width of the accumulator: it overflows once per bit.
ACCUMULATOR_BITS = 16

#: A start bit, eight data bits, a stop bit.
FRAME_BITS = 10

#: Cycles per bit below which the middle of a bit is too uncertain.
_FEWEST_CYCLES = 4

#: Part of the rate by which the accumulator's may differ. A frame of ten bits, sampled in the
#: middles, bears 5 % between both ends together; less with few cycles per bit, as
#: :class:`~adagrain.hdl.uart.Receiver` says.
_LARGEST_ERROR = 0.02


def step_per_cycle(clock: float, baud: float) -> int:
    """Step per cycle of an accumulator that overflows once per bit.

    Parameters
    ----------
    clock : float
        Clock cycles per second.
    baud : float
        Bits per second, within 2 % of a multiple of ``clock / 65536``; at most ``clock / 4``.

    Raises
    ------
    TypeError
        If one is no number.
    ValueError
        If one is not positive and finite, there are fewer than four cycles per bit, or the rate
        that results is more than 2 % off.
    """
    check_rate("clock", clock)
    check_rate("baud", baud)
    if baud * _FEWEST_CYCLES > clock:
        raise ValueError(
            f"baud must be at most {clock / _FEWEST_CYCLES:.0f} at {clock:.0f} Hz, not {baud:g}"
        )
    step = max(1, round(baud / clock * (1 << ACCUMULATOR_BITS)))
    actual = step * clock / (1 << ACCUMULATOR_BITS)
    if abs(actual / baud - 1) > _LARGEST_ERROR:
        raise ValueError(
            f"baud must be within 2 % of what {clock:.0f} Hz gives, not {baud:g}: "
            f"the nearest is {actual:.0f}"
        )
    return step
