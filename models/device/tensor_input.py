"""The tensor input of a golden device: the twin of ``hdl/tensor_input``."""

from collections.abc import Callable

import numpy as np
import torch

from adagrain.models.interface.configuration import Configuration
from adagrain.models.interface.formats import FORMATS, FormatCode
from adagrain.models.interface.protocol import Status
from adagrain.models.interface.units.tensor_input import BEAT, TensorOpcode

from .refusal import Refusal, require

__all__ = ["TensorInputModel"]


class TensorInputModel:
    """Golden model of :class:`adagrain.hdl.tensor_input.TensorInput`.

    Parameters
    ----------
    configuration : Configuration
        What the device is built with.

    Attributes
    ----------
    operations : mapping of int to callable
        As those of :class:`UnitModel`.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._formats = configuration.formats
        self._offered = _nothing()
        self._pass: _Pass | None = None
        self.operations: dict[int, Callable[[bytes], bytes]] = {TensorOpcode.DATA: self._data}

    @property
    def beats(self) -> int:
        """Beats that the data port still offers."""
        return len(self._offered) // BEAT

    def offer(self, words: np.ndarray) -> None:
        """Offer words to the data port; what was left of earlier ones is dropped."""
        self._offered = torch.from_numpy(words.view(np.uint8))
        self._take()

    def hello(self) -> None:
        """A session was opened: a pass that is under way is given up."""
        self._pass = None

    def forget(self) -> None:
        """Let go of all words that were offered, and of the pass that has taken some."""
        self._offered, self._pass = _nothing(), None

    def check(self, begin: dict[str, int]) -> None:
        """Refuse a tensor of a format that was not built."""
        require(begin["format"] in self._formats, Status.UNSUPPORTED)

    def check_free(self) -> None:
        """Refuse a pass while another is under way."""
        require(self._pass is None, Status.BUSY)

    def begin(self, begin: dict[str, int]) -> None:
        """Begin a pass, with the fields of a record that does."""
        require(begin["count"] > 0, Status.BAD_VALUE)
        self._pass = _Pass(begin)
        self._take()

    def end(self) -> torch.Tensor:
        """End the pass; its tensor."""
        ended, self._pass = self._pass, None
        if ended is None:
            raise Refusal(Status.NOT_STARTED)
        require(ended.missing == 0, Status.INCOMPLETE)
        return ended.tensor()

    def _take(self) -> None:
        if self._pass is not None and not self._pass.from_link:
            rest = self._pass.take(self._offered)
            self._offered = rest if len(rest) else _nothing()  # which holds no memory of others

    def _data(self, payload: bytes) -> bytes:
        if self._pass is None:
            raise Refusal(Status.NOT_STARTED)
        room = self._pass.missing if self._pass.from_link else 0
        require(len(payload) <= room, Status.OVERFLOW)
        self._pass.take(torch.frombuffer(bytearray(payload), dtype=torch.uint8))
        return b""


class _Pass:
    """A pass over one tensor: what was announced, and what has come."""

    def __init__(self, begin: dict[str, int]) -> None:
        self._count = begin["count"]
        self._format = FORMATS[FormatCode(begin["format"])]
        self.from_link = bool(begin["from_link"])
        self.missing = -(-self._count * self._format.bits // (8 * BEAT)) * BEAT
        self._parts: list[torch.Tensor] = []

    def take(self, raw: torch.Tensor) -> torch.Tensor:
        """Take what is missing; the bytes that are left over."""
        part, rest = raw[: self.missing], raw[self.missing :]
        self.missing -= len(part)
        self._parts.append(part)
        return rest

    def tensor(self) -> torch.Tensor:
        raw = self._parts[0] if len(self._parts) == 1 else torch.cat(self._parts)
        return raw.view(self._format.dtype)[: self._count]


def _nothing() -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8)
