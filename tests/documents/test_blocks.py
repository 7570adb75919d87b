"""README's table of blocks has the cells that `adagrain synth` has recorded."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CELLS = ("LUT", "FF", "DSP", "block RAM")

#: Rows that are of other units than their name says.
UNITS = {
    "encoder": ("encoder_commands", "decoder_commands"),
    "uart": ("receiver", "transmitter"),
    "float": ("multiplier", "adder"),
}


def rows() -> dict[str, str]:
    """Rows of the table, by the first name in each."""
    _, _, text = (ROOT / "README.md").read_text().partition("\n## Blocks\n")
    table, _, _ = text.partition("\nCells after technology mapping")
    lines = [line for line in table.splitlines() if line.startswith("| [")]
    return {re.findall("`([a-z_]+)`", line)[0]: line for line in lines}


@pytest.mark.parametrize("block", rows())
def test_block(block: str) -> None:
    record = json.loads((ROOT / "benchmarks/results/boards/ulx3s.json").read_text())
    units = [record[name] for name in UNITS.get(block, (block,))]
    told = re.findall(r"(\d+) / (\d+) / (\d+) / (\d+)", rows()[block])
    assert told == [tuple(str(unit[cell]) for cell in CELLS) for unit in units]
