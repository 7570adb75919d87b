"""Base of the ways to a device, as the driver needs them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    import torch

    from adagrain.models.device.golden_table import GoldenTable
    from adagrain.models.difference import Difference
    from adagrain.models.statistics import Batch, Energy, Statistics

__all__ = ["DirectTransport", "Transport"]


class Transport(Protocol):
    """A byte pipe to one device, with a data port where it has one.

    Members
    -------
    backend : str
        What really computes, for people: it is printed wherever results are.
    data_port : bool
        Tensors may be given to :meth:`load`, and :meth:`results` brings some; otherwise they travel
        in frames.
    """

    backend: str
    data_port: bool

    def send(self, raw: bytes) -> None:
        """Put bytes into the pipe; they may be processed only when :meth:`receive` is called."""

    def receive(self, frames: int, timeout: float) -> bytes:
        """Bytes that came from the device.

        Returns as soon as ``frames`` frame delimiters have come, or with what there is when
        ``timeout`` seconds are over, or nothing more can come.
        """

    def abandon(self) -> bool:
        """Drop what was sent but has not left yet, and end the frame that is thereby cut.

        Returns
        -------
        bool
            Whether the pipe can; otherwise nothing was done.
        """

    def send_break(self) -> None:
        """Reset the device, whatever it is doing; what was on its way, both ways, is lost."""

    def now(self) -> float:
        """Seconds of the clock that ``timeout`` is measured with."""

    def load(self, words: np.ndarray) -> None:
        """Offer 32-bit words to the data port, whole beats of four; replaces what was left."""

    def results(self) -> np.ndarray:
        """32-bit words that the data port has brought since this was last asked, in whole beats."""

    def close(self) -> None:
        """Let go of the device; may be called twice."""


class DirectTransport(Protocol):
    """A transport whose device computes in this process, and may be asked without frames.

    Members
    -------
    direct : bool
        It is to be asked so.
    """

    direct: bool

    def adopt(self, unit: str, table: "GoldenTable", decisions: int) -> None:
        """The unit's table becomes another one, which so many decisions have led to."""

    def statistics_of(
        self, tensors: "Sequence[torch.Tensor]", exponents: Sequence[int]
    ) -> "list[Statistics]":
        """Results of passes over the tensors; counted as passes through frames are.

        Parameters
        ----------
        tensors : sequence of Tensor
            Each of one dimension, contiguous, on the CPU, of a format that was built.
        exponents : sequence of int
            The shared exponent of each, -126 to 127.
        """

    def energies_of(self, batch: "Batch", exponents: Sequence[int]) -> "list[Energy]":
        """Energies of what :meth:`statistics_of` gives; counted likewise."""

    def differences_of(
        self, pairs: "Sequence[tuple[torch.Tensor, torch.Tensor]]", exponents: Sequence[int]
    ) -> "list[Difference]":
        """Results of passes over guesses and truths; counted as passes through frames are.

        Parameters
        ----------
        pairs : sequence of pairs of Tensor
            Each as those of :meth:`statistics_of`, of one format and length.
        exponents : sequence of int
            The shared exponent of each pair, -126 to 127.
        """
