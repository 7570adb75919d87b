"""Connections between all workers of a group, for rows of a few numbers that all of them tell.

A collective of gloo wakes threads on each worker, which take the processor from whoever trains
there. What is sent here waits in the other's socket until it is asked for.
"""

import datetime
import select
import socket
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np

__all__ = ["Gathering", "Mesh"]

#: In front of a row: its number, and its bytes.
_HEAD = struct.Struct("<QQ")

#: Bytes that are taken from a socket at once.
_PART = 1 << 16

#: Seconds after which one looks whether another thread has taken in what is waited for.
_LOOK = 0.05


class Mesh:
    """Gathers rows of int64, as ``all_gather`` does; all workers gather the same, in one order.

    What has come before a connection ended still counts.

    Parameters
    ----------
    connections : mapping of int to socket
        To each other worker, by its place in the group; closed by :meth:`close`.
    place : int
        This worker's.
    ranks : sequence of int
        Those of all workers, in the order of their places; errors name them.
    time_out : timedelta
        How long is waited for the others.
    """

    def __init__(
        self,
        connections: Mapping[int, socket.socket],
        place: int,
        ranks: Sequence[int],
        time_out: datetime.timedelta,
    ) -> None:
        self._peers = {other: _Peer(own) for other, own in connections.items()}
        self._place, self._ranks = place, ranks
        self._time_out = time_out
        self._gathered = 0
        self._lock = threading.Lock()

    def gather(self, row: np.ndarray) -> "Gathering":
        """Send a row to all others, without waiting for theirs.

        Parameters
        ----------
        row : ndarray
            Of int64; as many numbers on all workers.
        """
        raw = row.tobytes()
        with self._lock:
            number, self._gathered = self._gathered, self._gathered + 1
            for peer in self._peers.values():
                self._send(peer, _HEAD.pack(number, len(raw)) + raw)
        return Gathering(self, number, raw)

    def close(self) -> None:
        """Leave the others."""
        for peer in self._peers.values():
            peer.close()

    def rows_of(self, number: int, own: bytes) -> np.ndarray | None:
        """Rows of all workers, once they are there; taken in only once.

        Raises
        ------
        RuntimeError
            If a worker has left, or has gathered something else.
        """
        with self._lock:
            for peer in self._peers.values():
                peer.take_in()
            if not all(number in peer.rows for peer in self._peers.values()):
                for place, peer in self._peers.items():
                    if number not in peer.rows and peer.lost:
                        rank = self._ranks[place]
                        raise RuntimeError(f"connection to worker {rank} is lost: {peer.lost}")
                return None
            for place, peer in self._peers.items():
                if (told := len(peer.rows[number])) != len(own):
                    raise RuntimeError(
                        f"worker {self._ranks[place]} must tell {len(own)} bytes as this one does, "
                        f"not {told}"
                    )
            rows = {place: peer.rows.pop(number) for place, peer in self._peers.items()}
        raw = b"".join(row for _, row in sorted([*rows.items(), (self._place, own)]))
        return np.frombuffer(raw, dtype=np.int64).reshape(len(rows) + 1, -1)

    def wait_for(self, number: int, own: bytes, timeout: datetime.timedelta | None) -> np.ndarray:
        """As :meth:`rows_of`; waits until they are there.

        Raises
        ------
        RuntimeError
            As :meth:`rows_of`, or if it takes longer than the time-out.
        """
        limit = (timeout or self._time_out).total_seconds()
        end = time.monotonic() + limit
        while (rows := self.rows_of(number, own)) is None:
            left = end - time.monotonic()
            if left <= 0:
                raise RuntimeError(f"timed out after {limit:g} s")
            poll = select.poll()
            for peer in self._peers.values():
                if number not in peer.rows:
                    poll.register(peer.connection, select.POLLIN)
            poll.poll(1e3 * min(left, _LOOK))
        return rows

    def _send(self, peer: "_Peer", raw: bytes) -> None:
        """Send all, and take in what the others send meanwhile, or all might wait for each other.

        Where it does not go, nothing is raised: what has come from there still counts.
        """
        left, end = memoryview(raw), time.monotonic() + self._time_out.total_seconds()
        while left and not peer.lost:
            left = left[peer.send(left) :]
            if left:
                for other in self._peers.values():
                    other.take_in()
                poll = select.poll()
                poll.register(peer.connection, select.POLLIN | select.POLLOUT)
                poll.poll(1e3 * _LOOK)
                if time.monotonic() > end:
                    peer.lost = peer.lost or "it takes nothing"


class Gathering:
    """Rows under way."""

    def __init__(self, mesh: Mesh, number: int, own: bytes) -> None:
        self._mesh, self._number, self._own = mesh, number, own
        self._rows: np.ndarray | None = None

    def arrived(self) -> bool:
        """True where :meth:`wait` has nothing to wait for."""
        if self._rows is None:
            with suppress(RuntimeError):  # which wait() raises
                self._rows = self._mesh.rows_of(self._number, self._own)
        return self._rows is not None

    def wait(self, timeout: datetime.timedelta | None = None) -> np.ndarray:
        """Rows of all workers, in the order of their places. It may be called again.

        ``None`` waits as long as the group does.

        Raises
        ------
        RuntimeError
            If a worker is not there any more, has gathered something else, or it takes too long.
        """
        if self._rows is None:
            self._rows = self._mesh.wait_for(self._number, self._own, timeout)
        return self._rows


class _Peer:
    """The connection to another worker.

    Members
    -------
    rows : dict of int to bytes
        What it has told and nobody has asked for yet, by number.
    lost : str
        Why no more will come; empty while it may.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.rows: dict[int, bytes] = {}
        self.lost = ""
        self._raw = bytearray()

    def send(self, raw: memoryview) -> int:
        """Send as much as is taken at once; how much that was."""
        try:
            return self.connection.send(raw, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0
        except OSError as error:
            self.lost = self.lost or str(error)
            return 0

    def take_in(self) -> None:
        """Take what is there already."""
        try:
            while part := self.connection.recv(_PART, socket.MSG_DONTWAIT):
                self._raw += part
            self.lost = self.lost or "closed by the other side"
        except BlockingIOError:
            pass
        except OSError as error:
            self.lost = self.lost or str(error)
        while len(self._raw) >= _HEAD.size:
            number, size = _HEAD.unpack_from(self._raw)
            end = _HEAD.size + size
            if len(self._raw) < end:
                return
            self.rows[number] = bytes(self._raw[_HEAD.size : end])
            del self._raw[:end]

    def close(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
        self.connection.close()
