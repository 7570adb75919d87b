"""The whole board, down to its serial pins, behind a pseudo-terminal."""

from .board import VirtualBoard

__all__ = ["VirtualBoard"]
