"""Where compiled units are kept from one run to the next."""

import os
from pathlib import Path

__all__ = ["cache_directory"]


def cache_directory() -> Path:
    """``$ADAGRAIN_CACHE``, or else ``adagrain`` in the user's cache directory."""
    if chosen := os.environ.get("ADAGRAIN_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adagrain"
