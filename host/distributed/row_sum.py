"""A sum of rows that the workers of a mesh gather."""

import datetime

import numpy as np
import torch

from .mesh import Mesh

__all__ = ["RowSum"]


class RowSum:
    """As :class:`~.all_reduce.AllReduce`, of few integers, over connections between the workers.

    Parameters
    ----------
    tensor : Tensor
        This worker's part, of int64; the sum of all, after :meth:`wait`.
    mesh : Mesh
        The connections.
    """

    def __init__(self, tensor: torch.Tensor, mesh: Mesh) -> None:
        self._tensor = tensor
        self._gathering = mesh.gather(tensor.numpy())

    def arrived(self) -> bool:
        """True where it is known that :meth:`wait` has nothing to wait for."""
        return self._gathering.arrived()

    def wait(self, timeout: datetime.timedelta | None = None) -> None:
        """As :meth:`AllReduce.wait() <adagrain.host.distributed.all_reduce.AllReduce.wait>`."""
        np.sum(self._gathering.wait(timeout), axis=0, out=self._tensor.numpy())
