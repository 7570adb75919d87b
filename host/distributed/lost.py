"""The failure of a collective, as an error that says what was waited for."""

import torch

__all__ = ["WorkerLostError", "waited_for"]


class WorkerLostError(RuntimeError):
    """A collective failed: another worker died, or the network did."""


class waited_for:  # noqa: N801 - reads as a phrase: `with waited_for("…")`
    """Turns the failure of a collective into an error that says what was waited for."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, torch.OutOfMemoryError | WorkerLostError):
            return
        if isinstance(error, RuntimeError):
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise WorkerLostError(
                f"a worker was lost in {self._what}; this one cannot go on ({reason})"
            ) from error
