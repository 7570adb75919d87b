# amaranth: UnusedElaboratable=no
"""Statistics: what the constructors refuse."""

import pytest

from adagrain.hdl.narrow import Narrow
from adagrain.hdl.statistics import Statistics, Widen
from adagrain.hdl.statistics_pass import StatisticsPass
from adagrain.models.configuration import configuration
from adagrain.models.formats import FormatCode


def test_refusals() -> None:
    with pytest.raises(ValueError, match="lanes must be 1, 2 or 4, not 3"):
        Statistics(3)
    with pytest.raises(ValueError, match="powers must be 2 or 4, not 1"):
        Statistics(1, powers=1)
    with pytest.raises(ValueError, match="count_bits must be from 1 to 32, not 33"):
        Statistics(1, count_bits=33)
    with pytest.raises(ValueError, match="lanes must be 1, 2 or 4, not 8"):
        Widen(8, (FormatCode.FP32,))
    with pytest.raises(ValueError, match="lanes must divide 4, not 3"):
        Narrow(4, 3)
    with pytest.raises(ValueError, match="starvation must be positive, not 0"):
        StatisticsPass(configuration("tiny"), starvation=0)
