# amaranth: UnusedElaboratable=no
"""Parameters of the units of switchable precision; their behaviour is benched in sim."""

import pytest

from adagrain.hdl.arithmetic.dsp import Products
from adagrain.hdl.dot_product import DotProduct, IntegerDotProduct
from adagrain.hdl.granularity_unit import GranularityUnit
from adagrain.hdl.precision_controller import PrecisionController
from adagrain.models.interface.precision import Precision


@pytest.mark.parametrize("kind", [DotProduct, IntegerDotProduct])
def test_too_few_sums(kind: type[DotProduct | IntegerDotProduct]) -> None:
    with pytest.raises(ValueError, match="entries must be at least 2, not 1"):
        kind(1)


def test_a_number_of_units_that_is_no_power_of_two() -> None:
    with pytest.raises(ValueError, match="units must be a power of two, not 12"):
        PrecisionController(12)


def test_no_slices() -> None:
    with pytest.raises(ValueError, match="slices must be at least 1, not 0"):
        GranularityUnit(0, 64)


def test_precisions_that_no_dot_product_has() -> None:
    message = "precisions must be FP32, FP16, INT8, INT4, or INT8, INT4, not INT4"
    with pytest.raises(ValueError, match=message):
        GranularityUnit(1, 64, (Precision.INT4,))


@pytest.mark.parametrize(
    ("width", "lanes", "message"),
    [
        (19, 1, "width must be from 1 to 18, not 19"),
        (0, 1, "width must be from 1 to 18, not 0"),
        (8, 0, "lanes must be at least 1, not 0"),
    ],
)
def test_products_out_of_range(width: int, lanes: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Products(width, lanes)


def test_one_product() -> None:
    assert len(Products(18, 1).o) == 1
