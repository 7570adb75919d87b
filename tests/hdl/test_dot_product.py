# amaranth: UnusedElaboratable=no
"""Parameters of the units for products and their sums; their behaviour is benched in sim."""

import pytest

from adagrain.hdl.dot_product import DotProduct
from adagrain.hdl.dsp import Products


def test_too_few_sums() -> None:
    with pytest.raises(ValueError, match="entries must be at least 2, not 1"):
        DotProduct(1)


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
