# amaranth: UnusedElaboratable=no
"""Parameters of the floating-point units; their behaviour is benched in sim/float."""

import pytest

from adagrain.hdl.arithmetic.float.round import Round
from adagrain.models.interface.formats import FORMATS, FormatCode


def test_a_significand_that_is_too_narrow_to_round() -> None:
    with pytest.raises(ValueError, match="width must be at least 14, not 13"):
        Round(FORMATS[FormatCode.FP16], 13, 7, small=True)
