"""Two workers on a link of limited speed: a network namespace each, and a pair of devices."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

__all__ = ["Place", "link", "reason_against"]

_ADDRESSES = ("10.77.0.1", "10.77.0.2")


class Place(NamedTuple):
    """Where a worker runs: what stands in front of its command, and its environment."""

    prefix: Sequence[str]
    environment: dict[str, str]


def reason_against() -> str | None:
    """Why there can be no limited link here, if there cannot."""
    if os.geteuid():
        return "a limited link needs root"
    missing = [tool for tool in ("ip", "tc") if shutil.which(tool) is None]
    return f"a limited link needs {', '.join(missing)}" if missing else None


@contextmanager
def link(mbit: float) -> Iterator[list[Place]]:
    """Places of two workers between which so many Mbit/s fit, each way; all is removed at the end.

    Parameters
    ----------
    mbit : float
        Speed that a token bucket of 64 KiB holds on both ends.
    """
    names = [f"adagrain{os.getpid()}{end}" for end in "ab"]
    devices = [f"ag{os.getpid()}{end}" for end in "ab"]
    try:
        for name in names:
            _run("ip", "netns", "add", name)
        _run("ip", "link", "add", devices[0], "type", "veth", "peer", "name", devices[1])
        for name, device, address in zip(names, devices, _ADDRESSES, strict=True):
            inside = ("ip", "netns", "exec", name)
            _run("ip", "link", "set", device, "netns", name)
            _run(*inside, "ip", "address", "add", f"{address}/24", "dev", device)
            for own in ("lo", device):
                _run(*inside, "ip", "link", "set", own, "up")
            limit = ("rate", f"{mbit}mbit", "burst", "64kb", "latency", "400ms")
            _run(*inside, "tc", "qdisc", "add", "dev", device, "root", "tbf", *limit)
        yield [
            Place(
                ("ip", "netns", "exec", name),
                {"GLOO_SOCKET_IFNAME": device, "MASTER_ADDR": _ADDRESSES[0]},
            )
            for name, device in zip(names, devices, strict=True)
        ]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False, stderr=subprocess.DEVNULL)


def _run(*command: str) -> None:
    subprocess.run(command, check=True)
