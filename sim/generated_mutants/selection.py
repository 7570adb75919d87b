"""A pytest plugin: runs the tests that a file names, in its order, and no others.

It writes down, as soon as one has passed, how long it took, and what it shares with others of its
file: how long it took to set that up.
"""

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

_seconds: dict[str, float] = defaultdict(float)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = {name: set(less) for name, less in json.loads(_selected().read_text())}
    places = {name: place for place, name in enumerate(wanted)}
    chosen = list[tuple[int, pytest.Item]]()
    for item in items:
        node, file = item.nodeid, item.nodeid.partition("::")[0]
        if node in wanted:
            chosen.append((places[node], item))
        elif file in wanted and node not in wanted[file]:
            chosen.append((places[file], item))
    kept = {id(item) for _, item in chosen}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = [item for _, item in sorted(chosen, key=lambda pair: pair[0])]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.passed:
        node = report.nodeid
        _seconds[node if report.when == "call" else node.partition("::")[0]] += report.duration
        written = _selected().with_suffix(".part")
        written.write_text(json.dumps(_seconds))
        written.replace(_selected().with_suffix(".json"))


def _selected() -> Path:
    return Path(os.environ["ADAGRAIN_SELECTED"])
