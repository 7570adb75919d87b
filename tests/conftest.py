"""Settings of all tests: slow sweeps run where ``ADAGRAIN_FULL=1``, seeds are fixed and new."""

import os
import random
import signal

import numpy as np
import pytest
import torch

FULL = os.environ.get("ADAGRAIN_FULL") == "1"

#: Seed of what is always the same.
FIXED = 20


def pytest_configure() -> None:
    """Let Ctrl-C end programs that tests start, though a shell had put us in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if FULL:
        return
    for item in items:
        if item.get_closest_marker("full"):
            item.add_marker(pytest.mark.skip(reason="slow; make test-full runs it"))


@pytest.fixture(autouse=True)
def seeded() -> None:
    """What a test draws from generators that all share is always the same, or that of ``SEED``."""
    chosen = int(os.environ.get("SEED") or FIXED)
    random.seed(chosen)
    np.random.seed(chosen)
    torch.manual_seed(chosen)
    print(f"shared generators: SEED={chosen}")


@pytest.fixture(params=["fixed", "new"])
def seed(request: pytest.FixtureRequest) -> int:
    """Seed of a test's random numbers: always the same, then a new one; or ``SEED``."""
    new = int(os.environ.get("SEED") or random.SystemRandom().getrandbits(31))
    chosen = FIXED if request.param == "fixed" else new
    print(f"again: SEED={chosen} python -m pytest '{request.node.nodeid.replace('fixed', 'new')}'")
    return chosen
