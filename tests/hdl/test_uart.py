# amaranth: UnusedElaboratable=no
"""Bit rates of the serial line."""

import pytest

from adagrain.hdl.uart import Receiver, Transmitter, step_per_cycle


@pytest.mark.parametrize(
    ("clock", "baud"), [(50e6, 3e6), (25e6, 3e6), (12e6, 3e6), (12e6, 115200), (27e6, 1e6)]
)
def test_common_rates_are_nearly_exact(clock: float, baud: float) -> None:
    assert step_per_cycle(clock, baud) * clock / 65536 == pytest.approx(baud, rel=0.005)


@pytest.mark.parametrize("unit", [Receiver, Transmitter])
def test_impossible_rates_are_refused(unit: type) -> None:
    with pytest.raises(ValueError, match="baud must be from 1 to 3000000 at 12000000 Hz, not 4e"):
        unit(12e6, 4e6)
    with pytest.raises(ValueError, match=r"baud must be from 1 to .* not 0"):
        unit(12e6, 0)
    with pytest.raises(ValueError, match=r"within 2 % .* not 2000: the nearest is 2289"):
        unit(50e6, 2000)
