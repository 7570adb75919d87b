"""What a decoder says of a frame that it does not take."""

__all__ = ["CodecError"]


class CodecError(ValueError):
    """A frame or a table that is not as ``docs/codec.md`` wants it; no element of it was used."""
