"""The link's use of a serial line; in clock cycles, so the machine's load is no matter."""

from functools import cache

import pytest

from adagrain.host.link.line_rate import CleanRates, clean_rates, upload_rate
from adagrain.models.interface.configuration import configuration
from adagrain.sim.simulators import runner

pytestmark = pytest.mark.skipif(
    runner.missing("verilator") is not None, reason=str(runner.missing("verilator"))
)

#: Of the tensors, but for those on the worst of lines.
ELEMENTS = 20_000


#: The larger device, whose window is longer, is compiled for these tests alone.
PRESETS = ["tiny", pytest.param("small", marks=pytest.mark.full)]


@cache
def clean(preset: str) -> CleanRates:
    return clean_rates(configuration(preset), elements=ELEMENTS, echoes=40)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_clean_line_is_used_to_nine_tenths(preset: str) -> None:
    rates = clean(preset)
    assert rates.upload >= 0.9
    assert rates.echo >= 0.9
    assert rates.round_trip <= 2


@pytest.mark.parametrize(
    ("preset", "error_rate", "goal"),
    [
        ("tiny", 1e-4, 0.9),
        ("tiny", 1e-3, 0.45),
        pytest.param("small", 1e-4, 0.9, marks=pytest.mark.full),
        pytest.param("small", 1e-3, 0.6, marks=pytest.mark.full),
        pytest.param("small", 1e-2, 0.0, marks=pytest.mark.full),
    ],
)
def test_errors_cost_little(preset: str, error_rate: float, goal: float) -> None:
    elements = ELEMENTS if error_rate < 1e-2 else 2_000
    noisy = upload_rate(configuration(preset), elements=elements, error_rate=error_rate, seed=3)
    assert noisy / clean(preset).upload > goal
