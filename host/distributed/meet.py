"""Workers of a group meet: each two of them get a connection."""

import os
import secrets
import socket
import struct
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import NamedTuple

import torch.distributed as dist

from .lost import waited_for
from .mesh import Mesh
from .process_group import time_out_of

__all__ = ["LARGEST", "meet"]

#: Workers up to which each of them writes to all others; the more there are, the more it takes.
LARGEST = 16

#: What one that connects says of itself: the other's token, and its own place in the group.
_HELLO = struct.Struct("<16sI")

#: Seconds in which all have to have connected, and one that has done so has to greet.
_PATIENCE, _GREETING = 20.0, 5.0


class _Offer(NamedTuple):
    """A place where a worker listens, and what one has to know who connects."""

    host: str
    port: int
    token: bytes


def meet(group: dist.ProcessGroup) -> Mesh | None:
    """Connect all workers of a group; all of them must do so at the same time.

    They listen where they see ``MASTER_ADDR`` from.

    Parameters
    ----------
    group : ProcessGroup
        The workers; its collectives run on the CPU.

    Returns
    -------
    Mesh or None
        The connections; ``None``, on all workers, if they are more than :data:`LARGEST`, one of
        them has no ``MASTER_ADDR``, or two could not connect: then there are only collectives.

    Raises
    ------
    WorkerLostError
        If another worker is not there.
    """
    workers, place = dist.get_world_size(group), dist.get_rank(group)
    if not 1 < workers <= LARGEST:
        return None
    with ExitStack() as opened, waited_for("the connection of the workers"):
        listener, offer, connections = _listener(workers), None, {}
        if listener is not None:
            opened.enter_context(listener)
            host, port, *_ = listener.getsockname()
            offer = _Offer(host, port, secrets.token_bytes(16))
        offers = _told(offer, group)
        if listener is not None and all(offers):
            connections = _connected(listener, offers, place)
        with ExitStack() as kept:
            for connection in connections.values():
                kept.enter_context(connection)
            if not all(_told(len(connections) == workers - 1, group)):
                return None
            kept.pop_all()
    ranks = dist.get_process_group_ranks(group)
    return Mesh(connections, place, ranks, time_out_of(group))


def _told(own: object, group: dist.ProcessGroup) -> list:
    """Answers of all workers, in the order of their places."""
    found = [None] * dist.get_world_size(group)
    dist.all_gather_object(found, own, group=group)
    return found


def _listener(workers: int) -> socket.socket | None:
    """A socket that listens at the address from which this worker sees the first one."""
    master, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT")
    with suppress(OSError):
        if master and port:
            family, kind, *_, address = socket.getaddrinfo(master, port, type=socket.SOCK_DGRAM)[0]
            with socket.socket(family, kind) as probe:
                probe.connect(address)  # which sends nothing
                host = probe.getsockname()[0]
            return socket.create_server((host, 0), family=family, backlog=workers)
    return None


def _connected(
    listener: socket.socket, offers: Sequence[_Offer], place: int
) -> dict[int, socket.socket]:
    """Connections to the others, by their places; none if one is missing."""
    end = time.monotonic() + _PATIENCE
    found: dict[int, socket.socket] = {}
    try:
        for other, offer in enumerate(offers[:place]):
            found[other] = own = socket.create_connection(offer[:2], _left(end))
            own.sendall(_HELLO.pack(offer.token, place))
        while len(found) < len(offers) - 1:
            listener.settimeout(_left(end))
            own, _ = listener.accept()
            other = _greeted(own, offers[place].token)
            if place < other < len(offers) and other not in found:
                found[other] = own
            else:
                own.close()
        for own in found.values():
            own.settimeout(None)
            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError:
        for own in found.values():
            own.close()
        return {}
    return found


def _greeted(own: socket.socket, token: bytes) -> int:
    """The place of the worker that has connected; -1 if it is none."""
    end, raw = time.monotonic() + _GREETING, b""
    with suppress(OSError):
        while len(raw) < _HELLO.size:
            own.settimeout(_left(end))
            if not (part := own.recv(_HELLO.size - len(raw))):
                return -1
            raw += part
        said, other = _HELLO.unpack(raw)
        return other if secrets.compare_digest(said, token) else -1
    return -1


def _left(end: float) -> float:
    return max(end - time.monotonic(), 1e-3)
