"""``serial:`` - a board on a serial port."""

import errno
import time
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import serial
from serial.tools import list_ports

from adagrain.host.errors import DeviceError
from adagrain.models.configuration import Configuration

__all__ = ["DEFAULT_BAUD", "SerialTransport"]

#: Bits per second where the url does not say: that of the boards with the larger FPGAs.
DEFAULT_BAUD = 3_000_000

#: Seconds of each wait for octets; deadlines are met to this.
_PATIENCE = 0.05

#: Seconds for which a write may block before the port counts as dead.
_WRITE_TIMEOUT = 30.0


class SerialTransport:
    """Frames over a serial port, 8N1, without flow control; tensors travel in frames too.

    Parameters
    ----------
    address : str
        Path of the port, and its options: ``/dev/ttyUSB0?baud=3000000``.
    configuration : Configuration
        What the device must have been built with.

    Raises
    ------
    ValueError
        If an option is unknown, or the bit rate is no number.
    DeviceError
        If the port is missing, busy or cannot be opened.
    """

    data_port = False

    def __init__(self, address: str, configuration: Configuration) -> None:
        path, _, options = address.partition("?")
        baud = _baud(options)
        self.backend = f"board on {path}"
        self._path = path
        try:
            self._port = serial.Serial(
                path, baud, timeout=_PATIENCE, write_timeout=_WRITE_TIMEOUT, exclusive=True
            )
        except (serial.SerialException, OSError) as error:
            raise DeviceError(f"{_why(path, error)}; ports here: {_ports()}") from None
        self._port.reset_input_buffer()
        self.send(b"\0")  # ends whatever frame somebody else began

    def send(self, octets: bytes) -> None:
        try:
            self._port.write(octets)
        except (serial.SerialException, OSError) as error:
            raise self._lost(error) from None

    def receive(self, frames: int, timeout: float) -> bytes:
        deadline = time.monotonic() + timeout
        arrived = bytearray()
        try:
            while frames > arrived.count(0) and time.monotonic() < deadline:
                arrived += self._port.read(max(1, self._port.in_waiting))
        except (serial.SerialException, OSError) as error:
            raise self._lost(error) from None
        return bytes(arrived)

    def load(self, words: np.ndarray) -> None:
        raise NotImplementedError("a board has no data port")

    def close(self) -> None:
        self._port.close()

    def _lost(self, error: Exception) -> DeviceError:
        return DeviceError(f"{self.backend} does not answer any more: {error}; is it unplugged?")


def _baud(options: str) -> int:
    baud: Any = DEFAULT_BAUD
    for name, value in parse_qsl(options, keep_blank_values=True):
        if name != "baud":
            raise ValueError(f"option of a serial url must be baud, not {name!r}")
        baud = value
    if not str(baud).isdecimal() or int(baud) == 0:
        raise ValueError(f"baud must be a positive number, not {baud!r}")
    return int(baud)


def _why(path: str, error: Exception) -> str:
    """What is wrong with a port, in words for people."""
    text = str(error)
    if "exclusively lock" in text or getattr(error, "errno", None) == errno.EBUSY:
        return f"serial port {path} must be free, but another program uses it"
    if getattr(error, "errno", None) == errno.EACCES:
        return f"serial port {path} must be readable; are you in the group dialout?"
    if getattr(error, "errno", None) == errno.ENOENT:
        return f"serial port must exist, not {path!r}"
    return f"serial port {path} cannot be opened ({text})"


def _ports() -> str:
    return ", ".join(sorted(port.device for port in list_ports.comports())) or "none"
