"""The command line, without the runs that it starts."""

import re
from types import SimpleNamespace

import pytest
from command_line import call

from adagrain import __version__
from adagrain.hdl.boards import BOARDS
from adagrain.host.link.transport import SCHEMES
from adagrain.host.link.transport.golden import GoldenTransport
from adagrain.models.interface.configuration import PRESETS, Configuration, configuration

COMMANDS = (
    *("train", "devices", "info", "selftest", "sim"),
    *("synth", "virtual-board", "bitstream", "program"),
)


def test_help_names_all_commands() -> None:
    status, text = call("--help")
    assert status == 0
    assert all(f" {command} " in text for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    status, text = call(command, "--help")
    assert status == 0
    assert "Example: " in text


@pytest.mark.parametrize("command", ["train", "info", "selftest", "virtual-board"])
def test_help_names_all_presets(command: str) -> None:
    words = re.findall(r"\w+", call(command, "--help")[1])
    assert {*PRESETS} <= {*words}


@pytest.mark.parametrize("command", ["bitstream", "program", "synth"])
def test_help_names_all_boards(command: str) -> None:
    words = re.findall(r"[\w-]+", call(command, "--help")[1])
    assert {*BOARDS} <= {*words}


def test_version() -> None:
    assert call("--version") == (0, f"adagrain {__version__}")


def test_devices_tells_what_can_be_opened() -> None:
    status, text = call("devices")
    assert status == 0
    assert "golden:" in text and "sim:" in text


def test_devices_tells_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "needs g++, make, perl" in call("devices")[1]


@pytest.mark.parametrize("answers", [False, True])
def test_devices_asks_what_is_on_a_port_and_resets_nothing(
    monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    """At the highest bit rate first: a byte of a lower one is a break to a board of that."""
    asked = []

    class Port(GoldenTransport):
        def __init__(self, address: str, _: Configuration) -> None:
            asked.append(int(address.rpartition("=")[2]))
            super().__init__(configuration("small"))

        def receive(self, frames: int, timeout: float) -> bytes:
            return super().receive(frames, timeout) if answers else b""

        def send_break(self) -> None:
            raise AssertionError("it may be anybody's")

    port = SimpleNamespace(device="/dev/ttyX", vid=None, pid=None, description="anything")
    monkeypatch.setattr("serial.tools.list_ports.comports", lambda: [port])
    monkeypatch.setitem(SCHEMES, "serial", SCHEMES["serial"]._replace(open=Port))
    status, text = call("devices")
    assert status == 0 and "serial:/dev/ttyX" in text
    rates = sorted({round(board.baud) for board in BOARDS.values()}, reverse=True)
    assert asked == (rates[:1] if answers else rates)
    found = re.sub(r"\W+", " ", text)
    assert ("answers as device preset small" in found) == answers
    assert ("no answer" in found) != answers


@pytest.mark.parametrize(
    ("preset", "register"), [("tiny", "lanes │ 1"), ("full", "regions │ 1024")]
)
def test_info(preset: str, register: str) -> None:
    status, text = call("info", "golden:", "--preset", preset)
    assert status == 0
    assert f"preset │ {preset} " in text
    assert f"{register} " in text
    assert "golden model" in text


def test_selftest() -> None:
    status, text = call("selftest", "golden:", "--preset", "tiny")
    assert status == 0
    assert "passed" in text and "FAILED" not in text


def test_selftest_of_a_wrong_device_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from adagrain.host.device.coprocessor import Coprocessor

    monkeypatch.setattr(Coprocessor, "echo", lambda device, payload: payload[::-1])
    status, text = call("selftest", "golden:", "--preset", "tiny")
    assert status == 1
    assert "FAILED" in text
