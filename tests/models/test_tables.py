"""The generated tables in README and docs/."""

import importlib.util
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).parents[2] / "docs"


def script(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_protocol_page_is_up_to_date() -> None:
    tables = script("tables")
    assert tables.PAGE.read_text() == tables.page(), "run make docs"


def test_measured_figures_are_those_of_the_results() -> None:
    for path, content in script("figures").pages().items():
        assert path.read_text() == content, f"{path.name}: run make docs"
