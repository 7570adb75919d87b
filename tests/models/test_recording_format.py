"""The format of recordings, and the page that describes it."""

import re
from pathlib import Path

from adagrain.models.interface.recording import FIELDS, FORMAT, VERSION

PAGE = Path(__file__).parents[2] / "docs" / "recording.md"


def test_the_page_has_every_kind_and_field() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| (.+) \|$", PAGE.read_text(), re.MULTILINE))
    assert rows.keys() == {"kind", *map(str, FIELDS)}
    for kind, fields in FIELDS.items():
        assert set(re.findall(r"`(\w+)`", rows[kind])) >= fields.keys(), kind
    assert f"`format` (`{FORMAT}`), `version` ({VERSION})" in rows["header"]
