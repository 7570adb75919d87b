"""Measures a link from inside a namespace: round trips, or the rate of a transfer of TCP.

It needs nothing but the standard library, and so starts at once, and goes before what computes, or
it would measure how long it waits for a processor.
"""

import json
import math
import os
import socket
import statistics
import struct
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

_PORT = 7700

#: Seconds from one ping to the next.
_BETWEEN = 0.02

#: Of ICMP: request, reply; of a socket: a control message with the time of arrival.
_REQUEST, _REPLY = 8, 0
_TIMESTAMP_NS = 35

#: Where the kernel's tcp_info has the bytes that were received.
_BYTES_RECEIVED = 128

#: Nanoseconds that it may take to ask for it.
_MOMENT = 500_000

#: Buffers of a connection, whatever the machine's limit is; they are so large that it goes on while
#: a worker waits for a processor.
_SEND_BUFFER, _RECEIVE_BUFFER = 32, 33
_BUFFER = 128 << 20

#: Bytes on the wire for each that is sent.
_WITH_HEADERS = 1500 / 1448

#: Seconds in which the others have surely started.
_PATIENCE = 20


def pings(addresses: Sequence[str], count: int, most: float) -> list[float]:
    """Medians of the milliseconds of round trips; infinite if no answer comes.

    Parameters
    ----------
    addresses : sequence of str
        Where to.
    count : int
        How many round trips.
    most : float
        Seconds that one may take.
    """
    return [_ping(address, count, most) for address in addresses]


def _ping(address: str, count: int, most: float) -> float:
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as line:
        line.setsockopt(socket.SOL_SOCKET, _TIMESTAMP_NS, 1)
        sent = []
        for number in range(count):
            head = struct.pack("!BBHHH", _REQUEST, 0, 0, 0, number)
            total = sum(struct.unpack("!4H", head))
            sent.append(time.time_ns())
            line.sendto(head[:2] + struct.pack("!H", ~total & 0xFFFF) + head[4:], (address, 0))
            time.sleep(_BETWEEN)
        trips: list[float] = []
        line.settimeout(most)
        with suppress(TimeoutError):
            while len(trips) < count:
                packet, ((_, _, stamp), *_), _, _ = line.recvmsg(256, 64)
                kind, number = packet[20], packet[27]
                if kind == _REPLY:
                    seconds, nanoseconds = struct.unpack("qq", stamp)
                    trips.append((1_000_000_000 * seconds + nanoseconds - sent[number]) / 1e6)
    return statistics.median(trips) if trips else math.inf


def receive(own: str, settle: float, seconds: float, window: int) -> float:
    """Mbit/s with headers that come to this worker from one that sends.

    Parameters
    ----------
    own : str
        Address of this worker.
    settle : float
        Seconds in which TCP finds its rate.
    seconds : float
        Seconds that count.
    window : int
        Bytes that may be under way.
    """
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.setsockopt(socket.SOL_SOCKET, _RECEIVE_BUFFER, _BUFFER)
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, window)
        server.bind((own, _PORT))
        server.listen()
        server.settimeout(_PATIENCE)
        line, _ = server.accept()
    with line:
        time.sleep(settle)  # nothing need be read: the buffer has room for all
        began, before = _progress(line)
        time.sleep(seconds)
        ended, after = _progress(line)
    return 8e3 * (after - before) * _WITH_HEADERS / (ended - began)


def _progress(line: socket.socket) -> tuple[int, int]:
    """Nanoseconds, and bytes that have come until then."""
    while True:
        began = time.monotonic_ns()
        facts = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        ended = time.monotonic_ns()
        if ended - began < _MOMENT:
            (received,) = struct.unpack_from("Q", facts, _BYTES_RECEIVED)
            return ended, received


def send(address: str) -> None:
    """Send to another worker until it has enough."""
    with _connected(address) as line, suppress(ConnectionError):
        while True:
            line.sendall(bytes(1 << 20))


def _connected(address: str) -> socket.socket:
    """A connection to another worker, as soon as it listens."""
    before = time.monotonic()
    while True:
        line = socket.socket()
        line.settimeout(_PATIENCE)
        # Not the kernel's usual way, which may take seconds to find a long line's rate.
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        line.setsockopt(socket.SOL_SOCKET, _SEND_BUFFER, _BUFFER)
        try:
            line.connect((address, _PORT))
            return line
        except ConnectionRefusedError:
            line.close()
            if time.monotonic() > before + _PATIENCE:
                raise
            time.sleep(0.02)


if __name__ == "__main__":
    os.nice(-40)
    name, *arguments = json.loads(sys.argv[1])
    probes: dict[str, Callable[..., Any]] = {"pings": pings, "receive": receive, "send": send}
    print(json.dumps(probes[name](*arguments)))
