"""``serial:`` - a board on a serial port."""

import errno
import logging
import time
from contextlib import suppress
from urllib.parse import parse_qsl

import numpy as np
import serial
from serial.tools import list_ports

from adagrain.host.errors import DeviceError
from adagrain.models.interface.configuration import Configuration

__all__ = ["DEFAULT_BAUD", "DEFAULT_RECONNECT", "SerialTransport"]

_log = logging.getLogger("adagrain")

#: Bits per second where the url does not say: that of the boards with the larger FPGAs.
DEFAULT_BAUD = 3_000_000

#: Seconds for which a port that has vanished may come back, where the url does not say.
DEFAULT_RECONNECT = 5

#: What pyserial raises when a port vanishes.
_TROUBLE: tuple[type[Exception], ...] = (serial.SerialException, OSError, TypeError)
with suppress(ImportError):  # there is none on Windows
    import termios

    _TROUBLE += (termios.error,)

#: Seconds of each wait for bytes; deadlines are met to this.
_PATIENCE = 0.05

#: Length of a break: so many seconds, which adapters can keep, and so many bits; 20 would do.
_BREAK, _BREAK_BITS = 0.05, 40

#: Seconds for which a write may block before the port counts as dead.
_WRITE_TIMEOUT = 30.0


class SerialTransport:
    """Frames over a serial port, 8N1, without flow control; tensors travel in frames too.

    Parameters
    ----------
    address : str
        Path of the port, and its options: ``/dev/ttyUSB0?baud=3000000&reconnect=5``, the latter
        the seconds for which a port that has vanished may come back.
    configuration : Configuration
        What the device must have been built with.

    Where the port vanishes (a cable was pulled out and put in again), it is opened anew; what was
    under way then is lost, and the session sends it again.

    Raises
    ------
    ValueError
        If an option is unknown, or its value is no number.
    DeviceError
        If the port is missing, busy or cannot be opened.
    """

    data_port = False

    def __init__(self, address: str, configuration: Configuration) -> None:
        self._path, _, options = address.partition("?")
        self._options = _options(options)
        self.backend = f"board on {self._path} at {self._options['baud']} baud"
        try:
            self._port = self._open()
        except _TROUBLE as error:
            raise DeviceError(f"{_why(self._path, error)}; ports here: {_ports()}") from None

    def _open(self) -> serial.Serial:
        port = serial.Serial(
            self._path,
            self._options["baud"],
            timeout=_PATIENCE,
            write_timeout=_WRITE_TIMEOUT,
            exclusive=True,
        )
        port.reset_input_buffer()
        port.write(b"\0")  # ends whatever frame somebody else began
        return port

    def send(self, raw: bytes) -> None:
        try:
            self._port.write(raw)
        except _TROUBLE as error:
            self._reopen(error)

    def receive(self, frames: int, timeout: float) -> bytes:
        deadline = time.monotonic() + timeout
        arrived = bytearray()
        try:
            while frames > arrived.count(0) and time.monotonic() < deadline:
                arrived += self._port.read(max(1, self._port.in_waiting))
        except _TROUBLE as error:
            self._reopen(error)
        return bytes(arrived)

    def abandon(self) -> bool:
        try:
            self._port.reset_output_buffer()
        except _TROUBLE as error:
            self._reopen(error)
        self.send(b"\0")
        return True

    def send_break(self) -> None:
        try:
            self._port.reset_output_buffer()
            self._hold_low()
            self._port.reset_input_buffer()
        except _TROUBLE as error:
            self._reopen(error)

    def _hold_low(self) -> None:
        self._port.send_break(max(_BREAK, _BREAK_BITS / self._options["baud"]))

    def now(self) -> float:
        return time.monotonic()

    def load(self, words: np.ndarray) -> None:
        raise NotImplementedError("a board has no data port")

    def results(self) -> np.ndarray:
        raise NotImplementedError("a board has no data port")

    def close(self) -> None:
        self._close_port()

    def _close_port(self) -> None:
        with suppress(*_TROUBLE, ValueError):  # forked processes hold the port, and its lock, too
            self._port.exclusive = False
        self._port.close()

    def _reopen(self, error: Exception) -> None:
        self._close_port()
        _log.warning("%s is gone (%s); trying to open it again", self.backend, error)
        deadline = time.monotonic() + self._options["reconnect"]
        while True:
            try:
                self._port = self._open()
                _log.warning("%s is back", self.backend)
                return
            except _TROUBLE:
                if time.monotonic() >= deadline:
                    raise DeviceError(
                        f"{self.backend} does not answer any more: {error}; is it unplugged?"
                    ) from None
                time.sleep(_PATIENCE)


def _options(text: str) -> dict[str, int]:
    """Options of a url by name; those that it does not name have their usual values."""
    options = {"baud": DEFAULT_BAUD, "reconnect": DEFAULT_RECONNECT}
    for name, value in parse_qsl(text, keep_blank_values=True):
        if name not in options:
            raise ValueError(f"option of a serial url must be baud or reconnect, not {name!r}")
        if not value.isdecimal() or (name == "baud" and int(value) == 0):
            raise ValueError(f"{name} must be a positive number, not {value!r}")
        if int(value) >= 1 << 31:
            raise ValueError(f"{name} must be below 2^31, not {value!r}")
        options[name] = int(value)
    return options


def _why(path: str, error: Exception) -> str:
    """Fault of a port, in words for people."""
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
