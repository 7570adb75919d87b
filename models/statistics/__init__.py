"""Golden model of ``statistics``: one pass over a tensor, in exact integers."""

from .statistics import *  # noqa: F403
from .statistics import __all__ as __all__
