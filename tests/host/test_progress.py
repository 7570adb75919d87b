"""The signs by which a run shows that it moves."""

from io import StringIO
from types import SimpleNamespace

import pytest
from rich.console import Console

from adagrain.host.train import progress as progress_module
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


def test_an_accuracy_is_that_of_its_step() -> None:
    console = Console(file=StringIO(), force_terminal=False, width=100)
    with RunProgress(console, 3) as progress:
        for step, accuracy in enumerate((None, 0.25, None), 1):
            progress.advance(step, 0.5, accuracy)
    assert console.file.getvalue().splitlines() == [  # type: ignore[attr-defined]
        "step 1/3  loss 0.5000",
        "step 2/3  loss 0.5000  accuracy 25.00%",
        "step 3/3  loss 0.5000  accuracy 25.00% at step 2",
    ]


def test_a_slow_run_tells_more(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(progress_module, "time", SimpleNamespace(monotonic=lambda: now))
    console = Console(file=StringIO(), force_terminal=False, width=100)
    with RunProgress(console, 1000) as progress:
        for step in range(1, 110):
            now += 0.7
            progress.advance(step, 0.5, None)
    told = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert [line.split()[1] for line in told] == ["43/1000", "86/1000", "100/1000"]


def test_a_bar_on_a_terminal() -> None:
    told = shown(40, terminal=True)
    assert "training" in told and "40/40" in told
    assert "step 4/40" not in told


def test_losses_that_are_not_finite() -> None:
    console = Console(file=StringIO(), force_terminal=False, width=100)
    with RunProgress(console, 1) as progress:
        progress.advance(1, None, None)
    assert "loss not finite" in console.file.getvalue()  # type: ignore[attr-defined]
