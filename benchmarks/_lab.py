"""A network lab: workers in network namespaces of their own, joined by a link."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from _lab_check import Found, check
from _link import Link
from _relay import Relay, RelayError
from _workers import Place

__all__ = ["Count", "Lab", "lab"]

_DEVICE = "lab0"
_MTU = 1500

#: Starts a command in a namespace that is not about to end: else nothing would end the command.
_ENTER = f"""
if ! grep -q {_DEVICE} /proc/net/dev; then echo "the lab has ended" >&2; exit 1; fi
exec "$@"
"""

#: Settings of TCP in which machines differ: the one way that all of them allow, the kernel's own
#: limits, and no memory of what earlier connections met.
_TCP = {
    "tcp_congestion_control": "reno",
    "tcp_rmem": "4096 131072 6291456",
    "tcp_wmem": "4096 16384 4194304",
    "tcp_no_metrics_save": "1",
}


class Count(NamedTuple):
    """Bytes of IP packets that a worker has put on the wire, and got, and packets it has lost."""

    sent: int
    received: int
    lost: int


class Lab:
    """What :func:`lab` makes.

    Parameters
    ----------
    link : Link
        What joins the workers.
    relay : Relay
        What carries their packets.

    Members
    -------
    places : list of Place
        Where workers run: their namespaces, and the environment that leads gloo through the link.
    addresses : list of str
        Those of the workers on the link.

    Raises
    ------
    RelayError
        If a namespace cannot be set up.
    """

    def __init__(self, link: Link, relay: Relay) -> None:
        self.link, self._relay = link, relay
        self.addresses = [f"10.77.0.{worker + 1}" for worker in range(link.workers)]
        environment = {"GLOO_SOCKET_IFNAME": _DEVICE, "MASTER_ADDR": self.addresses[0]}
        self.places = [
            Place(("nsenter", f"--net={namespace}", "sh", "-c", _ENTER, "sh"), environment)
            for namespace in relay.namespaces
        ]
        for place, address in zip(self.places, self.addresses, strict=True):
            command = [*place.prefix, "sh", "-e", "-c", _set_up(address, relay.uncut)]
            outcome = subprocess.run(command, capture_output=True, text=True, check=False)
            if outcome.returncode:
                raise RelayError(f"a namespace could not be set up: {outcome.stderr.strip()}")

    def check(self) -> Found:
        """Measure the link; what was found.

        Raises
        ------
        VoidError
            If that is not what was wanted.
        """
        return check(self.link, self.places, self.addresses)

    def counts(self) -> list[Count]:
        """What each worker has sent and received so far."""
        numbers = iter(self._relay.ask("counts"))
        return [Count(*own) for own in zip(numbers, numbers, numbers, strict=True)]

    def cut(self, *workers: int) -> None:
        """Cut workers off, all if none are named: what is under way to them is lost as well."""
        self._ask("cut", workers)

    def mend(self, *workers: int) -> None:
        """Join workers again that were cut off, all if none are named."""
        self._ask("mend", workers)

    def pause(self, *workers: int) -> None:
        """Stop all processes of workers where they are, those of all if none are named."""
        self._ask("signal", workers, signal.SIGSTOP)

    def resume(self, *workers: int) -> None:
        """Let processes go on that were stopped."""
        self._ask("signal", workers, signal.SIGCONT)

    def kill(self, *workers: int) -> None:
        """Kill all processes of workers, those of all if none are named."""
        self._ask("signal", workers, signal.SIGKILL)

    def _ask(self, command: str, workers: tuple[int, ...], *numbers: int) -> None:
        every = range(self.link.workers)
        for worker in workers or every:
            if worker not in every:
                raise ValueError(f"worker must be 0 to {every[-1]}, not {worker}")
            self._relay.ask(command, worker, *numbers)


@contextmanager
def lab(link: Link, *, checked: bool = True) -> Iterator[Lab]:
    """A lab, which is measured first; at the end its workers are killed and nothing is left.

    That is also so if this process is killed.

    Parameters
    ----------
    link : Link
        What joins the workers.
    checked : bool
        Whether it is measured.

    Raises
    ------
    RelayError
        If there can be no lab.
    VoidError
        If rate or delay are not what was wanted.
    """
    with Relay(link) as relay:
        made = Lab(link, relay)
        if checked:
            made.check()
        yield made


def _set_up(address: str, uncut: int) -> str:
    """Commands that a namespace is set up by."""
    size = f"gso_max_size {uncut}" if uncut else ""
    return "\n".join(
        [
            "ip link set lo up",
            f"ip link set {_DEVICE} mtu {_MTU} txqueuelen 4096 addrgenmode none {size} up",
            f"ip address add {address}/24 dev {_DEVICE}",
            *(f"echo {value} > /proc/sys/net/ipv4/{name}" for name, value in _TCP.items()),
        ]
    )
