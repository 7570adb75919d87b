"""The command line, without the runs that it starts."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adagrain import __version__
from adagrain.host.cli import app
from adagrain.models.configuration import PRESETS

COMMANDS = (
    *("train", "devices", "info", "selftest", "sim"),
    *("synth", "virtual-board", "bitstream", "program"),
)


def call(*arguments: str) -> tuple[int, str]:
    """Exit status and everything that was printed, line breaks taken out."""
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, " ".join(result.output.split())


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


def test_version() -> None:
    assert call("--version") == (0, f"adagrain {__version__}")


def test_devices_tells_what_can_be_opened() -> None:
    status, text = call("devices")
    assert status == 0
    assert "golden:" in text and "sim:" in text


def test_devices_tells_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "needs g++, make, perl" in call("devices")[1]


@pytest.mark.parametrize("preset, regions", [("tiny", "64"), ("full", "1024")])
def test_info(preset: str, regions: str) -> None:
    status, text = call("info", "golden:", "--preset", preset)
    assert status == 0
    assert f"preset │ {preset} " in text
    assert f"regions │ {regions} " in text
    assert "golden model" in text


def test_selftest() -> None:
    status, text = call("selftest", "golden:", "--preset", "tiny")
    assert status == 0
    assert "passed" in text and "FAILED" not in text


def test_selftest_of_a_wrong_device_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from adagrain.host.driver import Coprocessor

    monkeypatch.setattr(Coprocessor, "echo", lambda device, payload: payload[::-1])
    status, text = call("selftest", "golden:", "--preset", "tiny")
    assert status == 1
    assert "FAILED" in text


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ("info", "carrier:pigeon"),
            "must begin with one of 'golden:', .*, 'virtual:', not 'carrier:",
        ),
        (("info", "golden:", "--preset", "huge"), "one of tiny, .*, granular, wide, not 'huge'"),
        (("synth", "fpu"), "unit must be one of .*, not 'fpu'"),
        (("synth", "link", "--board", "abacus"), "board must be one of .*, not 'abacus'"),
        (("bitstream", "--board", "abacus"), "board must be one of .*, not 'abacus'"),
        (("program", "--folder", "/no"), "must be a bitstream in /no/ulx3s, but there is none"),
        (("virtual-board", "--preset", "huge"), "one of tiny, .*, granular, wide, not 'huge'"),
        (("train", "--preset", "compress"), "'compress' comes with a later version"),
        (
            ("train", "--preset", "granular", "--device-preset", "small"),
            "granular layers need a build with a granularity unit: preset 'small' has no slices",
        ),
        (("train", "--preset", "fast"), "must be one of sync, cadence, granular, all, not 'fast'"),
        (("train", "--data", "/no/data"), "data must be .* not '/no/data'"),
        (("train", "--device", "golden"), "device url must begin with .* not 'golden'"),
        (("train", "--timing", "guessed"), "timing must be .* not 'guessed'"),
        (("train", "--by", "colour"), "not 'colour'"),
        (("train", "--workers", "99"), "batch must be at most 13 for 99 workers"),
        (("train", "--name", "none", "--resume", "--device", "golden:"), "no run at .*none"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_arguments_get_one_clear_line(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    place = ("--runs", str(tmp_path)) if arguments[0] == "train" else ()
    status, text = call(*arguments, *place)
    assert status == 2
    assert text.count("error:") == 1
    assert "Traceback" not in text
    assert re.search(message, text), text
    assert not list(tmp_path.iterdir()), "nothing is left behind"


def test_units_of_sim_are_checked() -> None:
    status, text = call("sim", "toaster")
    assert status == 2
    assert "toaster" in text
