"""Layouts of exchanges for tests of what masks and keeps their elements."""

from adagrain.host.compression.layout import Layout

__all__ = ["layout_of"]


def layout_of(*sizes: int, first: int = 0) -> Layout:
    """Slices of these sizes, each of a parameter of its own, numbered from ``first`` on."""
    return Layout(tuple((first + n, 0) for n in range(len(sizes))), sizes)
