"""Averages the gradients of due regions over the workers, and counts the bytes."""

import time
from collections.abc import Sequence

import torch
import torch.distributed as dist

__all__ = ["Exchange", "WorkerLostError", "waited_for"]


class WorkerLostError(RuntimeError):
    """A collective failed: another worker died, or the network did."""


class Exchange:
    """One step's all-reduces, begun one after the other, ended together.

    Parameters
    ----------
    group : ProcessGroup or None
        The workers.

    Members
    -------
    workers, rank : int
        How many they are, and which of them this one is.
    bytes_sent : int
        Bytes that this worker has put into collectives.
    """

    def __init__(self, group: dist.ProcessGroup | None) -> None:
        self.workers = dist.get_world_size(group)
        self.rank = dist.get_rank(group)
        self._group = group
        self._pending: list[tuple[list[torch.Tensor], torch.Tensor, dist.Work]] = []
        self.bytes_sent = 0

    def begin(self, means: Sequence[torch.Tensor], averages: list[torch.Tensor]) -> None:
        """Start averaging tensors in one collective; :meth:`end` fills ``averages`` of any shapes.

        As DDP does, each is multiplied by 1/W before the sum.
        """
        if not means:
            return
        flat = torch.cat([mean.reshape(-1) for mean in means]).mul_(1.0 / self.workers)
        with waited_for("the exchange of gradients"):
            work = dist.all_reduce(flat, group=self._group, async_op=True)
        self.bytes_sent += flat.numel() * flat.element_size()
        self._pending.append((averages, flat, work))

    def end(self) -> float:
        """Wait for all of them; the seconds that it took."""
        began = time.perf_counter()
        for averages, flat, work in self._pending:
            with waited_for("the exchange of gradients"):
                work.wait()
            sizes = [average.numel() for average in averages]
            for average, piece in zip(averages, flat.split(sizes), strict=True):
                average.copy_(piece.view_as(average))
        self._pending.clear()
        return time.perf_counter() - began


class waited_for:  # noqa: N801 - reads as a phrase: `with waited_for("…")`
    """Turns the failure of a collective into an error that says what was waited for."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, RuntimeError) and not isinstance(error, WorkerLostError):
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise WorkerLostError(
                f"a worker was lost in {self._what}; this one cannot go on ({reason})"
            ) from error
