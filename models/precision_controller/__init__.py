"""Golden model of the precision controller."""

from .table import *  # noqa: F403
from .table import __all__ as __all__
