"""The generated tables in docs/."""

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "docs" / "tables.py"


def test_protocol_page_is_up_to_date() -> None:
    specification = importlib.util.spec_from_file_location("tables", SCRIPT)
    assert specification and specification.loader
    tables = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tables)
    assert tables.PAGE.read_text() == tables.page(), "run make docs"
