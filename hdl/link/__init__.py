"""Framing, integrity, sessions and commands over any byte pipe."""
