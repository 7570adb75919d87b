"""The tables of device presets and of boards say what is declared."""

from pathlib import Path

import pytest

from adagrain.hdl.boards import BOARDS
from adagrain.models.interface.configuration import PRESETS

DOCS = Path(__file__).parents[2] / "docs"


def row(page: str, name: str) -> list[str]:
    """Cells behind the name of the one row of a page that begins with it."""
    lines = (DOCS / page).read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"| `{name}` |"))
    return line.strip("| ").split(" | ")[1:]


@pytest.mark.parametrize("name", PRESETS)
def test_presets(name: str) -> None:
    built = PRESETS[name]
    size = f"{built.payload} B" if built.payload < 1024 else f"{built.payload // 1024} KiB"
    formats = ", ".join(code.name for code in built.formats)
    told = (built.lanes, formats, built.powers, built.regions, f"{size} × {built.window}")
    assert row("coprocessor.md", name)[1:] == [*map(str, told)]


@pytest.mark.parametrize("name", BOARDS)
def test_boards(name: str) -> None:
    board = BOARDS[name]
    part, preset, clock, baud = row("boards.md", name)
    assert preset == f"`{board.preset}`"
    assert clock.startswith(f"{board.clock / 1e6:g} MHz")
    assert baud == f"{board.baud / 1e6:g} Mbaud"
    assert board.family == {"LFE5U": "ecp5", "iCE40": "ice40", "GW1NR": "gowin"}[part[:5]]
