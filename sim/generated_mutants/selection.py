"""A pytest plugin: runs the tests that a file names, in its order, and no others.

It writes down how long each of them took that passed.
"""

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

_wanted: list[str] = []
_seconds: dict[str, float] = defaultdict(float)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _wanted.extend(Path(os.environ["ADAGRAIN_SELECTED"]).read_text().splitlines())
    places = {name: place for place, name in enumerate(_wanted)}
    chosen = [(places[name], item) for item in items if (name := _asked(item.nodeid)) in places]
    kept = {id(item) for _, item in chosen}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = [item for _, item in sorted(chosen, key=lambda pair: pair[0])]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[_asked(report.nodeid)] += report.duration


def pytest_sessionfinish(exitstatus: int) -> None:
    passed = _seconds if exitstatus == pytest.ExitCode.OK else {}
    Path(os.environ["ADAGRAIN_SELECTED"]).with_suffix(".json").write_text(json.dumps(passed))


def _asked(name: str) -> str:
    """What stands in the list for a test: itself, or its file."""
    return name if name in _wanted else name.partition("::")[0]
