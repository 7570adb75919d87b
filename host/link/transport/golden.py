"""``golden:`` - the golden models, in process."""

import time
from collections.abc import Sequence

import numpy as np
import torch

from adagrain.models.device.coprocessor import CoprocessorModel
from adagrain.models.device.golden_table import GoldenTable
from adagrain.models.difference import Difference, differences_of_elements
from adagrain.models.interface.configuration import Configuration
from adagrain.models.statistics import (
    KERNELS,
    Batch,
    Energy,
    Statistics,
    energies_of_elements,
    statistics_of_elements,
)

__all__ = ["GoldenTransport"]


class GoldenTransport:
    """A device made of the golden models: exact, fast, and no hardware at all.

    Parameters
    ----------
    configuration : Configuration
        What the device pretends to be built with.
    kernel : str
        ``"fused"`` for the compiled kernel, ``"reference"`` for integers on torch tensors.
    direct : bool
        Whether statistics of several tensors, differences, and decisions are computed without
        frames; ``False`` sends all through frames, as tests of the link need it.

    Raises
    ------
    ValueError
        If the kernel is another.
    """

    data_port = True

    def __init__(
        self, configuration: Configuration, *, kernel: str = "fused", direct: bool = False
    ) -> None:
        if kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, not {kernel!r}")
        self.direct = direct
        self.backend = f"golden model, {kernel} kernels"
        if direct:
            self.backend += ", asked without frames"
        self._kernel = kernel
        self._model = CoprocessorModel(configuration, kernel=kernel)
        self._replies = b""

    def send(self, raw: bytes) -> None:
        self._replies += self._model.receive(raw)

    def receive(self, frames: int, timeout: float) -> bytes:
        replies, self._replies = self._replies, b""
        return replies

    def abandon(self) -> bool:
        return False

    def send_break(self) -> None:
        self._model.reset()
        self._replies = b""

    def now(self) -> float:
        return time.monotonic()

    def load(self, words: np.ndarray) -> None:
        self._model.load(words)

    def results(self) -> np.ndarray:
        return self._model.results()

    def adopt(self, unit: str, table: GoldenTable, decisions: int) -> None:
        self._model.commands[unit].adopt(table, decisions)

    def statistics_of(
        self, tensors: Sequence[torch.Tensor], exponents: Sequence[int]
    ) -> list[Statistics]:
        powers = self._model.commands.configuration.powers
        self._count(sum(x.numel() for x in tensors))
        return statistics_of_elements(tensors, exponents, powers=powers, kernel=self._kernel)

    def energies_of(self, batch: Batch, exponents: Sequence[int]) -> list[Energy]:
        self._count(batch.elements)
        return energies_of_elements(batch, exponents, kernel=self._kernel)

    def differences_of(
        self, pairs: Sequence[tuple[torch.Tensor, torch.Tensor]], exponents: Sequence[int]
    ) -> list[Difference]:
        found = differences_of_elements(pairs, exponents, kernel=self._kernel)
        for one in found:
            self._model.commands["difference"].add(vars(one))
        return found

    def close(self) -> None:
        self._model.commands.tensor_input.forget()

    def _count(self, elements: int) -> None:
        """Count passes over so many as passes through frames are."""
        self._model.commands["statistics"].totals["elements"] += elements
