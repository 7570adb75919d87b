"""Smallest and largest element."""

from collections.abc import Callable

from amaranth.hdl import Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from adagrain.hdl.stream.packet import check_lanes

__all__ = ["Extremes"]

#: Sort keys beyond those of all finite numbers: neutral for minimum and for maximum.
_ABOVE_ALL = 0xFFFF_FFFF
_BELOW_ALL = 0


class Extremes(wiring.Component):
    """Minimum and maximum over the finite elements, −0 below +0.

    FP32 words are compared as unsigned sort keys: the word with its sign bit set where it is
    positive, its complement where it is negative. One beat per cycle, latency :attr:`LATENCY`
    cycles, no back-pressure.

    Parameters
    ----------
    lanes : int
        Elements per cycle: 1, 2 or 4.

    Members
    -------
    clear : ``In(1)``
        Start anew.
    word : ``In(data.ArrayLayout(32, lanes))``
        FP32 elements.
    present : ``In(lanes)``
        Lanes that hold one.
    minimum, maximum : ``Out(32)``
        FP32 words; 0 where nothing was finite.
    largest_exponent : ``Out(8)``
        The larger of their exponent fields, which is that of all finite elements.
    none_finite : ``Out(1)``
        Nothing was finite.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not what it must be.
    """

    LATENCY = 3

    def __init__(self, lanes: int) -> None:
        check_lanes(lanes)
        self._lanes = lanes
        super().__init__(
            {
                "clear": In(1),
                "word": In(data.ArrayLayout(unsigned(32), lanes)),
                "present": In(lanes),
                "minimum": Out(32),
                "maximum": Out(32),
                "largest_exponent": Out(8),
                "none_finite": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        low, high = Signal(32), Signal(32)
        low_keys, high_keys = [], []
        for lane in range(self._lanes):
            word = self.word[lane]
            finite, key = Signal(), Signal(32)
            m.d.sync += [
                finite.eq(self.present[lane] & (word[23:31] != 255)),
                key.eq(Mux(word[31], ~word, word | 0x8000_0000)),
            ]
            low_keys.append(Mux(finite, key, _ABOVE_ALL))
            high_keys.append(Mux(finite, key, _BELOW_ALL))
        beat_low = _register(m, _tree(low_keys, _lower), init=_ABOVE_ALL)
        beat_high = _register(m, _tree(high_keys, _higher), init=_BELOW_ALL)

        with m.If(self.clear):
            m.d.sync += [low.eq(_ABOVE_ALL), high.eq(_BELOW_ALL)]
        with m.Else():
            with m.If(beat_low < low):
                m.d.sync += low.eq(beat_low)
            with m.If(beat_high > high):
                m.d.sync += high.eq(beat_high)

        m.d.comb += self.none_finite.eq(high[23:] == 0)  # as in no key of a finite number
        with m.If(~self.none_finite):
            m.d.comb += [self.minimum.eq(_word(low)), self.maximum.eq(_word(high))]
        below, above = self.minimum[23:31], self.maximum[23:31]
        m.d.comb += self.largest_exponent.eq(Mux(below > above, below, above))
        return m


def _register(m: Module, value: Value, init: int) -> Signal:
    register = Signal(32, init=init)
    m.d.sync += register.eq(value)
    return register


def _lower(a: Value, b: Value) -> Value:
    return Mux(a < b, a, b)


def _higher(a: Value, b: Value) -> Value:
    return Mux(a > b, a, b)


def _tree(values: list[Value], better: Callable[[Value, Value], Value]) -> Value:
    """Combine values pairwise."""
    while len(values) > 1:
        values = [better(a, b) for a, b in zip(values[::2], values[1::2], strict=True)]
    return values[0]


def _word(key: Signal) -> Value:
    """FP32 word of a sort key."""
    return Mux(key[31], key ^ 0x8000_0000, ~key)
