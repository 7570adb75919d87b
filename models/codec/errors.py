"""Errors of a decoder that does not take a frame."""

__all__ = ["CodecError"]


class CodecError(ValueError):
    """A frame or a table that is not as ``docs/codec.md`` wants it; no element of it was used."""
