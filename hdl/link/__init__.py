"""Framing, integrity, sessions and commands over any byte pipe."""

from .link import Link

__all__ = ["Link"]
