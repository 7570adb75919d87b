"""Times of the two ways on the line, measured with zeros."""

import time
from collections.abc import Callable

import torch
import torch.distributed as dist

from adagrain.host.distributed.lost import waited_for

from .bypass import Times

__all__ = ["Probe"]

#: Elements of the all-reduce that is measured, at most; the time is in proportion.
_ELEMENTS = 1 << 17

#: Looks at a fast line, of which the best counts: single ones are wrong by a factor of two.
_LOOKS = 2

#: Microseconds of a look after which there is no other: such a line is slow in any case.
_LONG = 50_000


class Probe:
    """Measures both ways, behind a pass, and takes the times of the slowest worker.

    A fast line is looked at twice; the least counts.

    Parameters
    ----------
    group : ProcessGroup or None
        Where dense gradients go; that of frames, where no other may be used meanwhile.
    frames : ProcessGroup
        Where frames go; its collectives run on the CPU.

    Members
    -------
    bytes_sent : int
        Bytes that this worker has put into measurements.
    """

    def __init__(self, group: dist.ProcessGroup | None, frames: dist.ProcessGroup) -> None:
        self.bytes_sent = 0
        self._group = group
        self._frames = frames

    def times(
        self, coding: float, elsewhere: float, slots: int, elements: int, device: torch.device
    ) -> Times:
        """Measure.

        Parameters
        ----------
        coding, elsewhere : float
            Seconds that this worker took: for masks and frames, and between exchanges.
        slots, elements : int
            Bytes of all slots of a pass, and elements of all its gradients.
        device : torch.device
            Where these are.
        """
        own = torch.zeros(slots, dtype=torch.uint8)
        others = [torch.empty_like(own) for _ in range(dist.get_world_size(self._frames))]
        place = "cpu" if self._group is self._frames else device
        dense = torch.zeros(min(elements, _ELEMENTS), dtype=torch.bfloat16, device=place)
        with waited_for("the probe of the line"):
            found = self._look(others, own, dense, coding, elsewhere)
            for _ in range(_LOOKS - 1):
                if found.gather + found.dense > _LONG:
                    break
                again = self._look(others, own, dense, coding, elsewhere)
                found = Times(*map(min, found, again))
        return found._replace(dense=round(found.dense * elements / len(dense)))

    def _look(
        self,
        others: list[torch.Tensor],
        own: torch.Tensor,
        dense: torch.Tensor,
        coding: float,
        elsewhere: float,
    ) -> Times:
        """Times of the slowest worker; that of ``dense`` as it is."""
        gather = _seconds(lambda: dist.all_gather(others, own, group=self._frames))
        reduce = _seconds(lambda: self._reduce(dense))
        seconds = coding, gather, reduce, elsewhere
        found = torch.tensor([round(1e6 * value) for value in seconds])
        dist.all_reduce(found, dist.ReduceOp.MAX, group=self._frames)
        self.bytes_sent += own.nbytes + dense.nbytes + found.nbytes
        return Times(*found.tolist())

    def _reduce(self, dense: torch.Tensor) -> None:
        """Average, and wait for it: on an accelerator the collective only goes on its way."""
        dist.all_reduce(dense, group=self._group)
        dense[0].item()


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
