"""Progress of a run: a bar on a terminal, a line now and then elsewhere."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["RunProgress"]

#: Lines that a run writes where there is no terminal; more where it takes long.
_LINES = 10

#: Seconds after which there is one more.
_SECONDS = 30.0


class RunProgress:
    """Progress of a run over its steps; a context manager.

    Parameters
    ----------
    console : Console
        Where to show it.
    steps : int
        Steps of the whole run.
    start : int
        Steps that a resumed run has behind it.
    """

    def __init__(self, console: Console, steps: int, start: int = 0) -> None:
        self._console = console
        self._steps = steps
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=steps, completed=start)
        self._measured: tuple[int, float] | None = None
        self._told = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def advance(self, step: int, loss: float | None, accuracy: float | None) -> None:
        """Show that ``step`` steps are done.

        Parameters
        ----------
        step : int
            How many are.
        loss : float or None
            The newest one; ``None`` where it is not finite.
        accuracy : float or None
            What was measured behind this step; ``None`` where nothing was.
        """
        text = "loss not finite" if loss is None else f"loss {loss:.4f}"
        if accuracy is not None:
            self._measured = step, accuracy
        if self._measured:
            at, found = self._measured
            text += f"  accuracy {found:.2%}" + (f" at step {at}" if at < step else "")
        self._bar.update(self._task, completed=step, description=text)
        if not self._console.is_terminal and self._is_due(step):
            self._console.print(f"step {step}/{self._steps}  {text}")
            self._told = time.monotonic()

    def _is_due(self, step: int) -> bool:
        late = time.monotonic() - self._told >= _SECONDS
        return late or step % max(1, self._steps // _LINES) == 0
