"""Opening devices: what a url may say, and devices that tell what they were built with."""

import subprocess
import sys
from typing import Any

import pytest

import adagrain
from adagrain.host.errors import ProtocolMismatchError
from adagrain.host.link import transport
from adagrain.host.link.transport.golden import GoldenTransport
from adagrain.models.interface.configuration import Configuration, configuration

#: Imports the way to serial ports on a machine without termios, which pyserial can do without.
_WITHOUT_TERMIOS = """
import sys, serial.tools.list_ports
sys.modules["termios"] = None
from adagrain.host.link.transport.serial_port import SerialTransport
"""


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes ``golden:`` a device of one configuration, like a board."""

    def build(configuration: Configuration) -> None:
        board = transport._Scheme(lambda address, wanted: GoldenTransport(configuration))
        monkeypatch.setitem(transport.SCHEMES, "golden", board)

    return build


@pytest.mark.parametrize("preset", ["tiny", "granular"])
def test_a_device_says_what_it_was_built_with(built: Any, preset: str) -> None:
    built(configuration(preset))
    with adagrain.open_device("golden:", preset=None) as device:
        assert device.configuration == configuration(preset)
        assert device.info().preset == preset
        assert device.echo(bytes(range(256))) == bytes(range(256))


def test_simulated_devices_are_full_unless_asked_otherwise() -> None:
    with adagrain.open_device("golden:", preset=None) as device:
        assert device.configuration == configuration("full")


def test_a_device_of_no_preset_is_named(built: Any) -> None:
    built(configuration("tiny", window=4))
    message = (
        r"golden: was built with device preset 'tiny', build 0x[0-9a-f]{8}; .* none of tiny, small"
    )
    with pytest.raises(ProtocolMismatchError, match=message):
        adagrain.open_device("golden:", preset=None)


def test_a_device_that_is_none_is_named(built: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Configuration.constants
    other = {"magic": 0x12345678}
    monkeypatch.setattr(Configuration, "constants", lambda built: honest(built) | other)
    with pytest.raises(ProtocolMismatchError, match=r"magic must be 0x.*, not 0x12345678"):
        adagrain.open_device("golden:", preset=None)


def test_serial_ports_do_without_termios() -> None:
    subprocess.run([sys.executable, "-c", _WITHOUT_TERMIOS], check=True)
