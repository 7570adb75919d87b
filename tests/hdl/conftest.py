"""Gateware that tests make, or see refused, and do not elaborate."""

import gc
from collections.abc import Iterator

import pytest
from amaranth.hdl import Elaboratable


@pytest.fixture(scope="module", autouse=True)
def not_elaborated() -> Iterator[None]:
    """Components whose constructors are all that is tested, and those that a refused one has made.

    Amaranth would warn of them; as of any other when they are gone.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Elaboratable, "_MustUse__silence", True)
        yield
        gc.collect()
