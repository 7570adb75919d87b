"""Speculative training: a step begins with guessed weights while the last update is in flight."""
