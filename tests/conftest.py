"""Settings of all tests: slow sweeps run where ``ADAGRAIN_FULL=1``."""

import os

import pytest

FULL = os.environ.get("ADAGRAIN_FULL") == "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if FULL:
        return
    for item in items:
        if item.get_closest_marker("full"):
            item.add_marker(pytest.mark.skip(reason="slow; make test-full runs it"))
