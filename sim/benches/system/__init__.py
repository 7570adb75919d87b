"""Requests that every device answers; the coprocessor's bench asks them."""
