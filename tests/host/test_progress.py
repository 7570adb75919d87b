"""The signs by which a run shows that it moves."""

from io import StringIO

import pytest
from rich.console import Console

from adagrain.host.train.progress import RunProgress


def shown(steps: int, *, terminal: bool, start: int = 0) -> str:
    """The output of a run of so many steps."""
    console = Console(file=StringIO(), force_terminal=terminal, width=100)
    with RunProgress(console, steps, start) as progress:
        for step in range(start, steps):
            progress.advance(step + 1, 0.5, 0.25 if step >= steps // 2 else None)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("steps, lines", [(4, 4), (40, 10), (1000, 10)])
def test_ten_lines_without_a_terminal(steps: int, lines: int) -> None:
    told = shown(steps, terminal=False).splitlines()
    assert len(told) == lines
    assert told[0] == f"step {steps // lines}/{steps}  loss 0.5000"
    assert told[-1] == f"step {steps}/{steps}  loss 0.5000  accuracy 25.00%"


def test_a_resumed_run_tells_the_rest() -> None:
    assert len(shown(1000, terminal=False, start=700).splitlines()) == 3


def test_a_bar_on_a_terminal() -> None:
    told = shown(40, terminal=True)
    assert "training" in told and "40/40" in told
    assert "step 4/40" not in told


def test_losses_that_are_not_finite() -> None:
    console = Console(file=StringIO(), force_terminal=False, width=100)
    with RunProgress(console, 1) as progress:
        progress.advance(1, None, None)
    assert "loss not finite" in console.file.getvalue()  # type: ignore[attr-defined]
