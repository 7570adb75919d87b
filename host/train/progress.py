"""Progress of a run: a bar on a terminal, a line now and then elsewhere."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["RunProgress"]

#: Lines that a run writes where there is no terminal.
_LINES = 10


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
        """Show that ``step`` steps are done."""
        text = "loss not finite" if loss is None else f"loss {loss:.4f}"
        if accuracy is not None:
            text += f"  accuracy {accuracy:.2%}"
        self._bar.update(self._task, completed=step, description=text)
        if not self._console.is_terminal and step % max(1, self._steps // _LINES) == 0:
            self._console.print(f"step {step}/{self._steps}  {text}")
