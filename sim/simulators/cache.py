"""The folder in which compiled units are kept from one run to the next."""

import os
import tempfile
from pathlib import Path

__all__ = ["CacheError", "cache_directory", "writable_cache"]


class CacheError(OSError):
    """Raised if what was compiled cannot be kept; the message says where, why, and the way out."""


def cache_directory() -> Path:
    """``$ADAGRAIN_CACHE``, or else ``adagrain`` in the user's cache directory."""
    if chosen := os.environ.get("ADAGRAIN_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adagrain"


def writable_cache() -> Path:
    """The same, made if need be.

    Raises
    ------
    CacheError
        If nothing can be written there.
    """
    cache = cache_directory()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache):
            pass
    except OSError as error:
        raise CacheError(
            f"cache of compiled units must be a folder that can be written, but {cache} cannot "
            f"({error.strerror}); ADAGRAIN_CACHE=FOLDER names another one"
        ) from None
    return cache
