"""Cases of steps as scripts take them, by name; see ``test_user_steps.py``."""

from collections.abc import Callable
from typing import Any

__all__ = ["CASES", "case", "refused"]

CASES: dict[str, Callable[[], None]] = {}


def case(function: Callable[[], None]) -> Callable[[], None]:
    CASES[function.__name__] = function
    return function


def refused(function: Callable[[], Any]) -> str:
    """The message with which a call is refused."""
    try:
        function()
    except (RuntimeError, TypeError, ValueError) as error:
        return str(error)
    raise AssertionError("it was not refused")
