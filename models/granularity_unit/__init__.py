"""Golden model of the granularity unit."""

from .tiles import *  # noqa: F403
from .tiles import __all__ as __all__
