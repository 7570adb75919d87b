"""Arithmetic as it is meant, whatever PyTorch was told to do with it."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache

import torch

__all__ = ["exactly", "without_autocast"]


@contextmanager
def exactly() -> Iterator[None]:
    """Leave no choice of types to ``torch.autocast``, and subnormal numbers what they are.

    Also a decorator. What ``torch.set_flush_denormal`` has set is set again behind it. Threads that
    PyTorch has started since then go on flushing: no result may depend on subnormal numbers that
    meet in PyTorch's own operations.
    """
    with ExitStack() as stack:
        stack.enter_context(without_autocast())
        if _flushes():
            torch.set_flush_denormal(False)
            stack.callback(torch.set_flush_denormal, True)
        yield


@contextmanager
def without_autocast() -> Iterator[None]:
    """Leave no choice of types to ``torch.autocast``, on whatever devices."""
    with ExitStack() as stack:
        for kind in _kinds():
            if torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        yield


@cache
def _kinds() -> tuple[str, ...]:
    """Kinds of devices for which autocast may be on."""
    accelerator = torch.accelerator.current_accelerator()
    return ("cpu",) if accelerator is None else ("cpu", accelerator.type)


def _flushes() -> bool:
    """True where this thread's processor takes subnormal numbers for zeros."""
    return sys.float_info.min * 0.5 == 0.0
