"""The link's use of a serial line; in clock cycles, so the machine's load is no matter."""

import pytest

from adagrain.host.link.line_rate import clean_rates, upload_rate
from adagrain.models.interface.configuration import configuration
from adagrain.sim.simulators import runner

pytestmark = pytest.mark.skipif(
    runner.missing("verilator") is not None, reason=str(runner.missing("verilator"))
)


@pytest.mark.parametrize("preset", ["tiny", "small"])
def test_a_clean_line_is_used_to_nine_tenths(preset: str) -> None:
    rates = clean_rates(configuration(preset), elements=20_000, echoes=40)
    assert rates.upload >= 0.9
    assert rates.echo >= 0.9
    assert rates.round_trip <= 2


@pytest.mark.parametrize(
    ("error_rate", "goal"),
    [(1e-4, 0.9), (1e-3, 0.6), pytest.param(1e-2, 0.0, marks=pytest.mark.full)],
)
def test_errors_cost_little(error_rate: float, goal: float) -> None:
    elements = 40_000 if error_rate < 1e-2 else 2_000
    board = configuration("small")
    clean = clean_rates(board, elements=40_000, echoes=1).upload
    noisy = upload_rate(board, elements=elements, error_rate=error_rate, seed=3)
    assert noisy / clean > goal
