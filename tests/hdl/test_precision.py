"""Parameters of the units of switchable precision; their behaviour is benched in sim."""

import pytest

from adagrain.hdl.arithmetic.dsp import Products
from adagrain.hdl.granularity_unit import GranularityUnit
from adagrain.models.interface.precision import Precision


def test_no_slices() -> None:
    with pytest.raises(ValueError, match="slices must be from 1 to 16, not 0"):
        GranularityUnit(0, 64)


def test_precisions_that_no_dot_product_has() -> None:
    message = "precisions must be FP32, FP16, INT8, INT4, or INT8, INT4, not INT4"
    with pytest.raises(ValueError, match=message):
        GranularityUnit(1, 64, (Precision.INT4,))


def test_one_product() -> None:
    assert len(Products(18, 1).o) == 1
