"""An all-reduce under way: what everything is exchanged and agreed on with."""

import datetime
from typing import Any

import torch
import torch.distributed as dist

__all__ = ["SHORT", "AllReduce"]

#: Bytes up to which two workers send each other all, where nothing is known of their link.
SHORT = 1 << 16


class AllReduce:
    """Combines a tensor over the workers, in its place.

    Two workers on a processor send each other what they have, if that is little: it takes half the
    turns of gloo's all-reduce, whose two halves follow each other, and the same bytes; the sum of
    two is the same to the bit. (Measured where a way takes 20 ms: 41 ms in place of 82. Where it is
    much for the line, both ways at once are slower: 380 kB at 20 Mbit/s took 242 ms in place of
    181.) Everything else is torch's all-reduce.

    Parameters
    ----------
    tensor : Tensor
        This worker's part; what all have together, after :meth:`wait`.
    group : ProcessGroup or None
        The workers; all of them give tensors of the same type and size, in the same order.
    op : ReduceOp
        ``SUM`` or ``MAX``.
    short : int
        Bytes that are little, the same on all workers.
    """

    def __init__(
        self,
        tensor: torch.Tensor,
        group: dist.ProcessGroup | None,
        op: Any = dist.ReduceOp.SUM,
        *,
        short: int = SHORT,
    ) -> None:
        self._tensor = tensor
        self._together = torch.add if op == dist.ReduceOp.SUM else torch.maximum
        self._parts: torch.Tensor | None = None
        is_short = tensor.nbytes <= short and tensor.device.type == "cpu"
        if is_short and dist.get_world_size(group) == 2:
            self._parts = tensor.new_empty((2, *tensor.shape))
            parts = [*self._parts]
            self._work = dist.all_gather(parts, tensor, group=group, async_op=True)
        else:
            self._work = dist.all_reduce(tensor, op, group=group, async_op=True)

    def arrived(self) -> bool:
        """True where it is known that :meth:`wait` has nothing to wait for."""
        return bool(self._work.is_completed())

    def wait(self, timeout: datetime.timedelta | None = None) -> None:
        """Wait for it. It may be called again.

        Parameters
        ----------
        timeout : timedelta or None
            For so long at most; ``None``: as long as the group waits.

        Raises
        ------
        RuntimeError
            If a worker is not there any more, or it takes too long.
        """
        if timeout is None:
            self._work.wait()
        else:
            self._work.wait(timeout)
        if self._parts is not None:
            self._together(*self._parts, out=self._tensor)
            self._parts = None
