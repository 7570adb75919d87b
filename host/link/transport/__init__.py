"""Ways to reach a device: each moves frames, and tensors where it has a data port."""

from collections.abc import Callable
from typing import Any, NamedTuple

from adagrain.models.interface.configuration import Configuration

from .base import Transport
from .golden import GoldenTransport

__all__ = ["SCHEMES", "Transport", "connect"]


def _golden(
    address: str, wanted: Configuration, *, direct: bool = True, **options: Any
) -> Transport:
    return GoldenTransport(wanted, direct=direct, **options)


def _simulated(address: str, wanted: Configuration, **options: Any) -> Transport:
    from .simulated import SimulatedTransport  # needs the extra `sim`

    return SimulatedTransport(wanted, **options)


def _serial(address: str, wanted: Configuration) -> Transport:
    from .serial_port import SerialTransport

    return SerialTransport(address, wanted)


def _virtual(address: str, wanted: Configuration, **options: Any) -> Transport:
    from .virtual import VirtualTransport  # needs the extra `sim`

    return VirtualTransport(wanted, **options)


class _Scheme(NamedTuple):
    """Scheme of a url: what opens it, and its options."""

    open: Callable[..., Transport]
    options: tuple[str, ...] = ()
    address: str = ""


#: By what stands before the colon of a url.
SCHEMES = {
    "golden": _Scheme(_golden, ("kernel", "direct")),
    "sim": _Scheme(_simulated, ("data_port", "netlist")),
    "serial": _Scheme(_serial, address="PORT"),
    "virtual": _Scheme(_virtual, ("netlist",)),
}


def connect(url: str, wanted: Configuration, **options: Any) -> Transport:
    """The transport that a url names.

    Raises
    ------
    TypeError, ValueError
        If it is no text, its scheme is unknown, what follows it does not belong there, or an
        option is unknown.
    """
    if not isinstance(url, str):
        raise TypeError(f"device url must be a text, not {url!r}")
    name, colon, address = url.partition(":")
    if not colon or name not in SCHEMES:
        known = ", ".join(f"'{scheme}:'" for scheme in SCHEMES)
        raise ValueError(f"device url must begin with one of {known}, not {url!r}")
    scheme = SCHEMES[name]
    if bool(address) != bool(scheme.address):
        raise ValueError(f"device url must be '{name}:{scheme.address}', not {url!r}")
    for option in options:
        if option not in scheme.options:
            known = ", ".join((*scheme.options, "timeout", "retries"))
            raise ValueError(f"option of a '{name}:' device must be one of {known}, not {option!r}")
    return scheme.open(address, wanted, **options)
