"""Frame length on a line with errors."""

import math

from adagrain.models.interface.units.tensor_input import BEAT
from adagrain.models.link import CHECKSUM_SIZE, HEADER_SIZE

__all__ = ["FrameSize"]

#: Bytes of a frame beside its payload: header, checksum, COBS code, delimiter.
OVERHEAD = HEADER_SIZE + CHECKSUM_SIZE + 2

#: Frames that an error costs: the damaged one, and the start of the one behind it.
_COST = 1.25

#: Bytes over which the error rate is averaged, in the end and at first.
_MEMORY, _FIRST = 1 << 17, 1 << 11


class FrameSize:
    """Chooses payloads by the rate at which frames get lost.

    With h bytes of overhead and one error in 1/b bytes, a payload of n bytes costs
    ``h/(n+h) + c·b·(n+h)`` of the line, where an error costs c frames; that is least where
    ``n + h = √(h / cb)``.

    Parameters
    ----------
    longest : int
        Bytes of the longest payload, where there are no errors.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._total = float(_FIRST)
        self._errors = 0.0

    def sent(self, length: int) -> None:
        """Bytes went out."""
        kept = max(0.0, 1 - length / _MEMORY)
        self._total = self._total * kept + length
        self._errors *= kept

    def lost(self) -> None:
        """A frame, or the answer to one, was damaged."""
        self._errors += 1

    @property
    def frame(self) -> int:
        """Bytes of a frame with such a payload."""
        return self.payload + OVERHEAD

    @property
    def payload(self) -> int:
        """Bytes: whole beats, at least one."""
        rate = self._errors / self._total
        if not rate:
            return self._longest
        best = math.sqrt(OVERHEAD / (_COST * rate)) - OVERHEAD
        return max(BEAT, round(min(self._longest, best) / BEAT) * BEAT)
