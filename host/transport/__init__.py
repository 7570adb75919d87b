"""Ways to reach a device: each moves frames, and tensors where it has a data port."""

from typing import Any

from adagrain.models.configuration import Configuration

from .base import Transport
from .golden import GoldenTransport

__all__ = ["SCHEMES", "Transport", "connect"]


def _golden(address: str, wanted: Configuration, **options: Any) -> Transport:
    return GoldenTransport(wanted, **options)


def _simulated(address: str, wanted: Configuration, **options: Any) -> Transport:
    from .simulated import SimulatedTransport  # needs the extra `sim`

    return SimulatedTransport(wanted, **options)


def _serial(address: str, wanted: Configuration, **options: Any) -> Transport:
    from .serial_port import SerialTransport

    return SerialTransport(address, wanted, **options)


def _virtual(address: str, wanted: Configuration, **options: Any) -> Transport:
    from .virtual import VirtualTransport  # needs the extra `sim`

    return VirtualTransport(wanted, **options)


#: Openers by the scheme of a url; each takes what follows the colon.
SCHEMES = {"golden": _golden, "sim": _simulated, "serial": _serial, "virtual": _virtual}


def connect(url: str, wanted: Configuration, **options: Any) -> Transport:
    """The transport that a url names.

    Raises
    ------
    ValueError
        If its scheme is unknown.
    """
    scheme, colon, address = url.partition(":")
    if not colon or scheme not in SCHEMES:
        known = ", ".join(f"'{name}:'" for name in SCHEMES)
        raise ValueError(f"device url must begin with one of {known}, not {url!r}")
    return SCHEMES[scheme](address, wanted, **options)
