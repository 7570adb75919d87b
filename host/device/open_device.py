"""Opening a device by its url."""

import math
from typing import Any

from adagrain.host.errors import DeviceError
from adagrain.host.link.session import Session, SessionLostError
from adagrain.host.link.transport import connect
from adagrain.models.interface.configuration import Configuration, configuration
from adagrain.models.interface.units import SYSTEM

from .coprocessor import Coprocessor
from .identity import find_configuration, read_registers
from .recovery import Recovery

__all__ = ["configuration_behind", "for_training", "open_device"]

#: Window and payload with which a device that is not yet known is asked what it is: each has them.
_LEAST = {"window": 1, "payload": 256}


def open_device(
    url: str,
    preset: str | Configuration | None = "full",
    *,
    replaceable: bool = False,
    **options: Any,
) -> Coprocessor:
    """Open a device.

    Parameters
    ----------
    url : str
        ``golden:`` for the golden models, ``sim:`` for the compiled RTL, both in process;
        ``serial:PORT?baud=N`` for a board, ``virtual:`` for a simulated one behind a serial port.
    preset : str, Configuration or None
        Device preset, or configuration, that the device must have been built with; simulated
        devices are built so. ``None``: what the device says; simulated ones are built as ``full``.
    replaceable : bool
        Whether the golden model takes over, loudly, when the device fails.
    options
        ``timeout`` (seconds to wait for an answer, 10), ``retries`` (how many such
        waits more without progress before giving up, 3), and those of the url's transport.

    Raises
    ------
    TypeError, ValueError
        If the url, the device preset or an option is unknown or out of range.
    ProtocolMismatchError
        If what answers is not a coprocessor of this protocol version and device preset.
    DeviceTimeoutError
        If nothing answers.
    """
    wanted = preset if isinstance(preset, Configuration) else configuration(preset or "full")
    waits = {"timeout": options.pop("timeout", 10.0), "retries": options.pop("retries", 3)}
    _check_waits(**waits)
    transport = connect(url, wanted, **options)
    try:
        if preset is None:
            session = Session(transport, **_LEAST, **waits)
            recovery = Recovery(session, restore=lambda: None)
            registers = recovery.run(lambda: read_registers(session, [SYSTEM]))
            wanted = find_configuration(registers, url)
        device = Coprocessor(transport, wanted, url=url, **waits)
    except BaseException:
        transport.close()
        raise
    device.replaceable = replaceable
    return device


def configuration_behind(url: str, timeout: float) -> Configuration:
    """Configuration of what answers a single question; nothing is reset for it, whatever it is.

    Parameters
    ----------
    url : str
        As for :func:`open_device`.
    timeout : float
        Seconds to wait for an answer.

    Raises
    ------
    ValueError, ProtocolMismatchError, DeviceTimeoutError
        As :func:`open_device`.
    """
    transport = connect(url, configuration("full"))
    try:
        session = Session(transport, **_LEAST, timeout=timeout, retries=0)
        session.open()
        return find_configuration(read_registers(session, [SYSTEM]), url)
    except SessionLostError as error:
        raise DeviceError(f"{url} answers, but keeps no session: {error}") from None
    finally:
        transport.close()


def for_training(device: str | Coprocessor, preset: str | Configuration) -> Coprocessor:
    """A device that is given, or behind a url; the golden model takes over when it fails.

    Parameters
    ----------
    device : str or Coprocessor
        The device or its url.
    preset : str or Configuration
        With a url, as that of :func:`open_device`.

    Raises
    ------
    TypeError
        If it is neither.
    ValueError, ProtocolMismatchError, DeviceTimeoutError
        As :func:`open_device`.
    """
    if not isinstance(device, str | Coprocessor):
        raise TypeError(f"device must be a url or a Coprocessor, not {device!r}")
    found = open_device(device, preset) if isinstance(device, str) else device
    found.replaceable = True
    return found


def _check_waits(timeout: float, retries: int) -> None:
    if not (isinstance(timeout, int | float) and 0 < timeout < math.inf):
        raise ValueError(f"timeout must be a positive number of seconds, not {timeout!r}")
    if not (isinstance(retries, int) and retries >= 0):
        raise ValueError(f"retries must be a whole number, 0 or more, not {retries!r}")
