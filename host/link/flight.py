"""Commands in flight: which are unanswered, and which of them must be sent again."""

from collections import deque
from collections.abc import Sequence

from adagrain.models.link import Frame

__all__ = ["Flight"]

#: On the wire in place of a frame that was cut.
_TORN = -1


class Flight:
    """Bookkeeping of the commands in a session's window.

    The device answers each frame, in the order in which they reach it. So whatever it answers,
    the fate of every frame that was sent before is sealed: a command among them that is still
    unanswered, and is not on its way once more, was lost, or its answer was. That tells what to
    send again long before a deadline would. A guess that is wrong, as noise that looks like a frame
    may cause it, costs a repeat, which the device answers from memory.
    """

    def __init__(self) -> None:
        self._frames: dict[int, bytes] = {}  # by sequence, the oldest first
        self._repeats: dict[int, int] = {}
        self._answers: dict[int, Frame] = {}  # those that wait for the answer of an older one
        self._wire: deque[int] = deque()  # sequences as they were sent, fate unknown

    def __len__(self) -> int:
        """Commands from the oldest unanswered one on: so much of the window is in use."""
        return len(self._frames)

    @property
    def oldest(self) -> int:
        """Sequence of the oldest command; there must be one."""
        return next(iter(self._frames))

    @property
    def frame(self) -> bytes:
        """Frame of the oldest command; there must be one."""
        return self._frames[self.oldest]

    @property
    def repeats(self) -> int:
        """Times that the oldest command has been sent again; 0 where there is none."""
        return self._repeats[self.oldest] if self._frames else 0

    def awaits(self, sequence: int) -> bool:
        """True if a command is unanswered."""
        return sequence in self._frames and sequence not in self._answers

    def add(self, sequence: int, frame: bytes) -> None:
        """A new command is sent."""
        self._frames[sequence] = frame
        self._repeats[sequence] = 0
        self._wire.append(sequence)

    def answered(self, reply: Frame) -> list[Frame]:
        """An answer came: answers that are due now, in order."""
        sequence = reply.sequence
        if sequence in self._wire:
            while self._wire.popleft() != sequence:
                pass
        if sequence in self._frames:
            self._answers[sequence] = reply
        return self._due()

    def refused(self, expected: int) -> bool:
        """A frame came damaged or too early, and the device waits for a command.

        Returns
        -------
        bool
            The command is not on its way: all behind it will be refused too.
        """
        self._settle()
        return expected in self._unanswered() and expected not in self._wire

    def cut(self) -> None:
        """Forget what was on the wire: it was abandoned, one frame perhaps in its middle."""
        self._wire = deque([_TORN])

    def back_to(self, sequence: int) -> list[bytes]:
        """All unanswered commands from that one on, to send."""
        unanswered = self._unanswered()
        return self._send(unanswered[unanswered.index(sequence) :])

    def missing(self) -> list[bytes]:
        """Unanswered commands that are not on their way, to send."""
        return self._send([s for s in self._unanswered() if s not in self._wire])

    def unreadable(self) -> None:
        """An answer came damaged."""
        self._settle()

    def overdue(self) -> None:
        """Nothing came for too long: nothing is on its way."""
        self._wire.clear()

    def _unanswered(self) -> list[int]:
        return [sequence for sequence in self._frames if sequence not in self._answers]

    def _settle(self) -> None:
        """The frame that was sent first is not on the wire any more."""
        if self._wire:
            self._wire.popleft()

    def _due(self) -> list[Frame]:
        due = []
        while self._frames and self.oldest in self._answers:
            sequence = self.oldest
            del self._frames[sequence], self._repeats[sequence]
            due.append(self._answers.pop(sequence))
        return due

    def _send(self, sequences: Sequence[int]) -> list[bytes]:
        self._wire.extend(sequences)
        for sequence in sequences:
            self._repeats[sequence] += 1
        return [self._frames[sequence] for sequence in sequences]
