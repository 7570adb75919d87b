"""The tables of device presets and of boards say what is declared."""

import re
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


def units(name: str) -> tuple[set[str], int, bool]:
    """What a device preset's row says of it: its units, its slices, and whether it has a histogram.

    A row may begin with those of an earlier one.
    """
    found: set[str] = set()
    slices, histogram = 0, True
    for told in row("coprocessor.md", name)[0].split(", "):
        if other := re.fullmatch(r"those of `(\w+)`", told):
            found, slices, histogram = units(other[1])
        elif number := re.search(r"(\d+) slices$", told):
            slices = int(number[1])
        histogram = histogram and not told.endswith(" without histogram")
        if not told.startswith(("those of", "with ")):
            found |= {told.split()[0]}
    return found, slices, histogram


@pytest.mark.parametrize("name", PRESETS)
def test_units_of_presets(name: str) -> None:
    built = PRESETS[name]
    assert units(name) == ({*built.units}, built.slices, built.histogram)


def test_presets_with_a_codec() -> None:
    """As the codec's page has them, in two places."""
    page = " ".join((DOCS / "codec.md").read_text().split())
    *names, last = (f"`{name}`" for name, built in PRESETS.items() if "encoder" in built.units)
    told = f"{', '.join(names)} and {last}"
    assert f"of devices, which {told} have." in page
    assert f"The device presets {told} have two units for it" in page
    assert all(("encoder" in own.units) == ("decoder" in own.units) for own in PRESETS.values())


def test_promised_cycles_of_decisions() -> None:
    """As the page of the Region Manager has them."""
    page = " ".join((DOCS / "region_manager.md").read_text().split())
    (told,) = re.findall(r"(\d+) in each device preset that has the unit", page)
    promised = {b.decision_cycles for b in PRESETS.values() if "region_manager" in b.units}
    assert promised == {int(told)}


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
