"""Twin of the whole device: bytes in, bytes out."""

import numpy as np

from adagrain.models.interface.configuration import Configuration
from adagrain.models.link import LinkModel

from .commands import CommandModel

__all__ = ["CoprocessorModel"]


class CoprocessorModel:
    """Golden model of :class:`adagrain.hdl.device.coprocessor.Coprocessor`.

    Its answers equal the gateware's byte for byte, but for the registers that count clock
    cycles, which read 0: a model has no clock.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.
    kernel : str
        Implementation of the statistics: ``"fused"`` or ``"reference"``.
    """

    def __init__(self, configuration: Configuration, *, kernel: str = "fused") -> None:
        self.configuration = configuration
        self._kernel = kernel
        self.reset()

    def reset(self) -> None:
        """Power-on state: no session, an empty table, all counters 0."""
        self.commands = CommandModel(self.configuration, link_counters=lambda: self.link.counters)
        self.commands["statistics"].kernel = self._kernel
        self.link = LinkModel(self.configuration, self.commands.execute)

    def load(self, words: np.ndarray) -> None:
        """Offer 32-bit words, whole beats of four, to the data port."""
        self.commands.tensor_input.offer(words)

    def results(self) -> np.ndarray:
        """32-bit words that have come out of the data port since this was last asked."""
        return np.array(self.commands.take_results(), dtype=np.uint32)

    def receive(self, raw: bytes) -> bytes:
        """Answer to bytes from the host, which may split frames anywhere."""
        return self.link.receive(raw)
