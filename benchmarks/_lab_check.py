"""Whether a link has the rate and the delay that were wanted."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from _link import Link
from _workers import Place

__all__ = ["Found", "VoidError", "check"]

_PROBE = Path(__file__).with_name("_lab_probe.py")

#: What a figure may be off, of what was wanted; and milliseconds that a round trip may be.
_OFF, _OFF_MS = 0.1, 0.3

#: Times that a link is measured before it is found wanting: others may disturb it.
_TRIES = 3

#: How many round trips are timed, and the bytes of a packet of theirs.
_PINGS, _PING_BYTES = 20, 28

#: What is transferred takes so many seconds, but is at most so many bytes.
_SECONDS, _MOST_BYTES = 0.5, 8_000_000

#: Seconds of a line's time that packets of the transfer may wait for it.
_SECONDS_WAITING = 0.1

#: Round trips, and seconds, after which TCP has found its rate.
_TRIPS_TO_RATE, _SECONDS_TO_RATE = 14, 0.4


class VoidError(RuntimeError):
    """Raised if a link is not what was wanted; the message says what was measured."""


class Found(NamedTuple):
    """Figures of a link as measured.

    Members
    -------
    round_trips : list of float
        Milliseconds from the first worker to each of the others and back.
    rates : list of float
        Mbit/s that come to each worker from the one before it.
    """

    round_trips: list[float]
    rates: list[float]

    def __str__(self) -> str:
        trips = ", ".join(f"{trip:.2f}" for trip in self.round_trips)
        rates = ", ".join(f"{rate:.2f}" for rate in self.rates)
        return f"round trip {trips} ms, rate {rates} Mbit/s"


def check(link: Link, places: Sequence[Place], addresses: Sequence[str]) -> Found:
    """Measure a link; what was found.

    Parameters
    ----------
    link : Link
        What is wanted.
    places, addresses : sequence
        Where the workers are, and how they reach each other.

    Raises
    ------
    VoidError
        If a round trip is not twice the delay to 10 %, and half the jitter, or a rate not that of
        the link to 10 %; also when it is measured again.
    """
    for _ in range(_TRIES):
        found = _measured(link, places, addresses)
        off = _off(link, found)
        if not off:
            return found
    raise VoidError(f"the link of {link} is void: {'; '.join(off)}")


def _off(link: Link, found: Found) -> list[str]:
    """What is not as wanted."""
    trip, rate = 2 * link.delay, link.rate
    on_the_line = 2 * 8e-3 * _PING_BYTES / rate
    slack = max(_OFF * trip, _OFF_MS + on_the_line) + link.jitter / 2
    said = [
        f"round trip to worker {worker} must be {trip:g} ms ± {slack:g}, not {own:.2f}"
        for worker, own in enumerate(found.round_trips, 1)
        if not abs(own - trip) <= slack
    ]
    return said + [
        f"rate to worker {worker} must be {rate:g} Mbit/s ± {_OFF * rate:g}, not {own:.2f}"
        for worker, own in enumerate(found.rates)
        if not abs(own - rate) <= _OFF * rate
    ]


def _measured(link: Link, places: Sequence[Place], addresses: Sequence[str]) -> Found:
    trip = 2 * link.delay / 1e3
    trips = _told(_started(places[0], "pings", addresses[1:], _PINGS, trip + 1))
    settle = max(_SECONDS_TO_RATE, _TRIPS_TO_RATE * trip)
    seconds = min(_SECONDS, 8 * _MOST_BYTES / (1e6 * link.rate))
    window = round(1e6 * link.rate / 8 * (trip + _SECONDS_WAITING))
    rates: dict[int, float] = {}
    for senders in _rounds(link.workers):
        receivers = [(sender + 1) % link.workers for sender in senders]
        sending = [
            _started(places[sender], "send", addresses[receiver])
            for sender, receiver in zip(senders, receivers, strict=True)
        ]
        receiving = [
            _started(places[own], "receive", addresses[own], settle, seconds, window)
            for own in receivers
        ]
        rates |= zip(receivers, map(_told, receiving), strict=True)
        for probe in sending:
            _told(probe)
        time.sleep(trip + 2 * _SECONDS_WAITING)  # in which what is under way arrives
    return Found(trips, [rates[worker] for worker in range(link.workers)])


def _rounds(workers: int) -> list[Sequence[int]]:
    """Who sends at once: nobody who receives, for whose acknowledgements would wait for data."""
    last = [[workers - 1]] if workers % 2 else []
    return [range(0, workers - 1, 2), range(1, workers, 2), *last]


def _started(place: Place, *arguments: object) -> subprocess.Popen[str]:
    command = [*place.prefix, sys.executable, "-I", "-S", str(_PROBE), json.dumps(arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _told(process: subprocess.Popen[str]) -> Any:
    """What a probe has found."""
    said, _ = process.communicate()
    if process.returncode:
        raise VoidError(f"a probe of the link ended with {process.returncode}")
    return json.loads(said)
