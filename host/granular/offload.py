"""The forward pass of granular layers on a device."""

from collections.abc import Mapping

import numpy as np
import torch

from adagrain.host.device.coprocessor import Coprocessor
from adagrain.models.numerics.quantisation import Operand, multiplied

from .resources import slice_cycles

__all__ = ["Offload"]

_COUNTS = ("products", "cycles", "busy", "bytes_moved", "reckoned", "flags")


class Offload:
    """Multiplies on the device in every so many steps, and with the golden model in between.

    Both give the same bits, so that how often the device is asked changes nothing but time.

    Parameters
    ----------
    device : Coprocessor
        Built with a granularity unit.
    every : int
        Steps from one whose products the device computes to the next.

    Members
    -------
    step : int
        Number of the training step.
    active : bool
        This step is such a one.
    products, cycles, busy, bytes_moved : int
        Products that the device computed, cycles that it took, those of them in which its slices
        multiplied, bytes that commands and replies took on the link.
    reckoned : int
        What ``busy`` would be if no slice ever had nothing to multiply; of products that count.
    flags : int
        Exceptions that its sums have raised, :class:`~adagrain.models.arithmetic.float.Flag`.

    Raises
    ------
    ValueError
        If ``every`` is below 1.
    """

    def __init__(self, device: Coprocessor, every: int = 1) -> None:
        if every < 1:
            raise ValueError(f"every must be at least 1, not {every}")
        self._device = device
        self.every = every
        self.step = 0
        self.products = self.cycles = self.busy = self.bytes_moved = self.flags = self.reckoned = 0

    @property
    def active(self) -> bool:
        """True if the device computes in this step."""
        return self.step % self.every == 0

    def multiply(self, a: Operand, b: Operand) -> torch.Tensor:
        """As :func:`adagrain.models.numerics.quantisation.multiplied`, bit for bit."""
        if not self.active:
            return multiplied(a, b)
        rows, columns, scales = a.matrix(), b.matrix().t(), None
        if a.scale is not None and b.scale is not None:
            scales = (a.scale.item(), b.scale.flatten())
        found = self._device.matmul(rows, columns, a.precision, scales)
        self.products += 1
        self.cycles += found.cycles
        self.busy += found.busy
        if found.busy:
            macs = found.values.numel() * rows.shape[1]
            slices = self._device.configuration.slices
            self.reckoned += slice_cycles(macs, a.precision, slices)
        self.bytes_moved += found.bytes_moved
        self.flags |= int(np.bitwise_or.reduce(found.flags.numpy(), axis=None))
        return a.products(found.values)

    def state_dict(self) -> dict[str, int]:
        """Counts so far."""
        return {name: getattr(self, name) for name in _COUNTS}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Count on from what :meth:`state_dict` gave."""
        for name in _COUNTS:
            setattr(self, name, state[name])
