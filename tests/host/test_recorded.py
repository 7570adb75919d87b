"""Figures of boards that are kept."""

import json
from pathlib import Path

import pytest

from adagrain.host.cli.recorded import change, check_recorded, read_recorded, write_recorded


def test_figures_are_replaced_by_name_and_others_kept(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "boards"
    write_recorded(folder, "icebreaker", "tiny", {"cells": 1})
    write_recorded(folder, "icebreaker", "small", {"cells": 2})
    write_recorded(folder, "ulx3s", "tiny", {"cells": 3})
    path = write_recorded(folder, "icebreaker", "tiny", {"mhz": 50.5})
    assert path == folder / "icebreaker.json"
    assert json.loads(path.read_text()) == {"tiny": {"mhz": 50.5}, "small": {"cells": 2}}
    assert path.read_text().endswith("}\n")
    assert read_recorded(folder, "icebreaker", "tiny") == {"mhz": 50.5}
    assert read_recorded(folder, "ulx3s", "tiny") == {"cells": 3}


def test_what_was_never_recorded(tmp_path: Path) -> None:
    write_recorded(tmp_path, "ulx3s", "tiny", {"cells": 3})
    assert read_recorded(tmp_path, "ulx3s", "wide") == {}
    assert read_recorded(tmp_path, "none", "tiny") == {}


def test_recording_needs_its_folder(tmp_path: Path) -> None:
    check_recorded(tmp_path, True)
    check_recorded(tmp_path / "none", False)
    with pytest.raises(FileNotFoundError, match="--record needs the folder of the recorded"):
        check_recorded(tmp_path / "none", True)


@pytest.mark.parametrize(
    ("now", "before", "digits", "text"),
    [
        (5, None, 0, ""),
        (1234, 0, 0, "+1,234"),
        (5, 5, 0, "+0"),
        (5, 7, 0, "-2"),
        (50.26, 50.0, 1, "+0.3"),
    ],
)
def test_changes(now: float, before: float | None, digits: int, text: str) -> None:
    assert change(now, before, digits) == text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"bitstream": {', "must be recorded figures in JSON"),
        ("[]", r"must be a JSON object .*, not \[\]"),
    ],
)
def test_a_file_that_is_no_record_is_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "ulx3s.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=f"ulx3s.json {message}"):
        read_recorded(tmp_path, "ulx3s", "bitstream")
    with pytest.raises(ValueError, match=message):
        write_recorded(tmp_path, "ulx3s", "bitstream", {})
    assert path.read_text() == content
