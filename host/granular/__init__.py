"""Networks that choose their own precision: :mod:`adagrain.granular`."""

from .convert import convert
from .granularity import Granularity
from .layers import GranularConv2d, GranularLayer, GranularLinear
from .logs import ChannelGroupLog, GranularityLog
from .policy import Policy
from .resources import Budget, BudgetError, ResourceManager

__all__ = [
    "Budget",
    "BudgetError",
    "ChannelGroupLog",
    "GranularConv2d",
    "GranularLayer",
    "GranularLinear",
    "Granularity",
    "GranularityLog",
    "Policy",
    "ResourceManager",
    "convert",
]
