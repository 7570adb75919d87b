"""A line that does to octets what lines do to octets, repeatably."""

import enum
import random
from collections.abc import Mapping

__all__ = ["Fault", "FaultyLine"]


class Fault(enum.Enum):
    """What may happen: the first four at each octet, the others at each frame."""

    DROP = "an octet is lost"
    FLIP = "a bit of an octet flips"
    DOUBLE = "an octet comes twice"
    GARBAGE = "a few octets that nobody sent come in"
    LOSE = "a frame is lost"
    REPEAT = "a frame comes twice"
    SWAP = "a frame comes after the next one"
    TRUNCATE = "a frame ends early"


#: Most octets of garbage at once.
_GARBAGE = 8


class FaultyLine:
    """One direction of a byte pipe.

    Frames pass when they are whole; what is not yet a whole frame is kept back, so that what
    happens to them depends on the seed alone, and not on how the octets were cut into pieces.

    Parameters
    ----------
    chances : dict of Fault to float
        Of each fault, at each octet or at each frame.
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

    def carry(self, octets: bytes) -> bytes:
        """What comes out when these octets go in."""
        *frames, self._begun = (self._begun + octets).split(b"\0")
        return b"".join(self._carry_frame(frame + b"\0") for frame in frames)

    def _carry_frame(self, frame: bytes) -> bytes:
        if self._happens(Fault.TRUNCATE):
            frame = frame[: self._random.randrange(len(frame))]
        frame = b"".join(self._carry_octet(octet) for octet in frame)
        if self._happens(Fault.LOSE):
            return b""
        if self._happens(Fault.REPEAT):
            frame += frame
        if not self._late and self._happens(Fault.SWAP):
            self._late = frame
            return b""
        late, self._late = self._late, b""
        return frame + late

    def _carry_octet(self, octet: int) -> bytes:
        if self._happens(Fault.DROP):
            return b""
        if self._happens(Fault.FLIP):
            octet ^= 1 << self._random.randrange(8)
        carried = bytes([octet])
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
