"""A faulty cable between a driver and a board's serial port."""

import enum
import os
import random
import select
import tempfile
import threading
import time
import tty
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from .faulty_line import Fault, FaultyLine

__all__ = ["FaultProxy", "Mishap"]


class Mishap(enum.Enum):
    """Faults of a cable, at each chunk of what the driver sends."""

    DELAY = "everything waits for a while"
    DISCONNECT = "the port vanishes for a while, with what is on the way"
    RESET = "the device is reset"


#: Seconds of the longest delay, and for which a port is gone.
_LONGEST_DELAY, _GONE = 0.03, 0.05

#: Bytes that are relayed at once.
_CHUNK = 4096


class FaultProxy:
    """Relays between a pseudo-terminal of its own and a board's port.

    What happens to the bytes depends on the seed and on the frames alone; when mishaps come
    depends also on how the driver's bytes happen to be cut into chunks.

    Parameters
    ----------
    port : str
        The board's.
    chances : dict of Fault or Mishap to float
        Of each fault, at each byte or frame, either way; of each mishap, at each chunk from the
        driver.
    seed : int
        Of everything.
    reset : callable or None
        Resets the device.

    Members
    -------
    port : str
        For the driver; it stays the same when the port vanishes and comes back.
    """

    def __init__(
        self,
        port: str,
        chances: Mapping[Fault | Mishap, float],
        seed: int,
        *,
        reset: Callable[[], None] | None = None,
    ) -> None:
        self._random = random.Random(seed)
        faults = {kind: chance for kind, chance in chances.items() if isinstance(kind, Fault)}
        self._mishaps = {kind: chances[kind] for kind in Mishap if kind in chances}
        self._there, self._back = FaultyLine(faults, seed), FaultyLine(faults, ~seed)
        self._reset = reset
        self._mishappened: Counter[Mishap] = Counter()
        self._folder = tempfile.TemporaryDirectory(prefix="adagrain-")
        self._link = Path(self._folder.name) / "tty"
        self.port = str(self._link)
        self._board = os.open(port, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self._board)
        self._stop_read, self._stop_write = os.pipe()
        self._plug_in()
        self._thread = threading.Thread(target=self._relay, name="fault-proxy", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def happened(self) -> dict[Fault | Mishap, int]:
        """Times that each of them did happen."""
        happened: dict[Fault | Mishap, int] = {
            mishap: self._mishappened[mishap] for mishap in Mishap
        }
        for fault in Fault:
            happened[fault] = self._there.happened[fault] + self._back.happened[fault]
        return happened

    def close(self) -> None:
        """End the relay and the pseudo-terminal."""
        os.write(self._stop_write, b"x")
        self._thread.join()
        self._unplug()
        for handle in (self._board, self._stop_read, self._stop_write):
            os.close(handle)
        self._folder.cleanup()

    def _plug_in(self) -> None:
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self._link.symlink_to(os.ttyname(self._slave))

    def _unplug(self) -> None:
        self._link.unlink()
        os.close(self._slave)
        os.close(self._master)

    def _relay(self) -> None:
        while True:
            readable, _, _ = select.select([self._master, self._board, self._stop_read], [], [])
            if self._stop_read in readable:
                return
            if self._board in readable:
                _write(self._master, self._back.carry(os.read(self._board, _CHUNK)))
            if self._master in readable:
                raw = os.read(self._master, _CHUNK)
                _write(self._board, self._there.carry(raw))
                self._mishap()

    def _mishap(self) -> None:
        for mishap, chance in self._mishaps.items():
            if self._random.random() >= chance:
                continue
            self._mishappened[mishap] += 1
            if mishap is Mishap.DELAY:
                time.sleep(self._random.uniform(0, _LONGEST_DELAY))
            elif mishap is Mishap.DISCONNECT:
                self._unplug()
                time.sleep(_GONE)
                self._plug_in()
            elif self._reset is not None:
                self._reset()


def _write(handle: int, raw: bytes) -> None:
    while raw:
        raw = raw[os.write(handle, raw) :]
