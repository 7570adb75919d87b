"""A line that does to bytes what lines do to bytes, repeatably."""

import enum
import random
from collections.abc import Mapping

__all__ = ["Fault", "FaultyLine"]


class Fault(enum.Enum):
    """Rates of faults: the first four at each byte, the others at each frame."""

    DROP = "a byte is lost"
    FLIP = "a bit of a byte flips"
    DOUBLE = "a byte comes twice"
    GARBAGE = "a few bytes that nobody sent come in"
    LOSE = "a frame is lost"
    REPEAT = "a frame comes twice"
    SWAP = "a frame comes after the next one"
    TRUNCATE = "a frame ends early"


#: Most bytes of garbage at once.
_GARBAGE = 8


class FaultyLine:
    """One direction of a byte pipe.

    Frames pass when they are whole; what is not yet a whole frame is kept back, so that what
    happens to them depends on the seed alone, and not on how the bytes were cut into chunks.

    Parameters
    ----------
    chances : dict of Fault to float
        Of each fault, at each byte or at each frame.
    seed : int
        Of everything.

    Members
    -------
    happened : dict of Fault to int
        How often each fault did happen.
    """

    def __init__(self, chances: Mapping[Fault, float], seed: int) -> None:
        self._chances = dict(chances)
        self._random = random.Random(seed)
        self._begun = b""
        self._late = b""
        self.happened = dict.fromkeys(Fault, 0)

    def carry(self, raw: bytes) -> bytes:
        """The bytes that come out when these go in."""
        *frames, self._begun = (self._begun + raw).split(b"\0")
        return b"".join(self._carry_frame(frame + b"\0") for frame in frames)

    def _carry_frame(self, frame: bytes) -> bytes:
        if self._happens(Fault.TRUNCATE):
            frame = frame[: self._random.randrange(len(frame))]
        frame = b"".join(self._carry_byte(byte) for byte in frame)
        if self._happens(Fault.LOSE):
            return b""
        if self._happens(Fault.REPEAT):
            frame += frame
        if not self._late and self._happens(Fault.SWAP):
            self._late = frame
            return b""
        late, self._late = self._late, b""
        return frame + late

    def _carry_byte(self, byte: int) -> bytes:
        if self._happens(Fault.DROP):
            return b""
        if self._happens(Fault.FLIP):
            byte ^= 1 << self._random.randrange(8)
        carried = bytes([byte])
        if self._happens(Fault.DOUBLE):
            carried += carried
        if self._happens(Fault.GARBAGE):
            carried += self._random.randbytes(self._random.randint(1, _GARBAGE))
        return carried

    def _happens(self, fault: Fault) -> bool:
        chance = self._chances.get(fault, 0.0)
        if not chance or self._random.random() >= chance:
            return False
        self.happened[fault] += 1
        return True
