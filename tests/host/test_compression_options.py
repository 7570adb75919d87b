"""Options of the compressed exchange, and what is refused before anything begins."""

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from adagrain.host.compression.learned.options import LearnedOptions
from adagrain.host.compression.options import CompressionOptions
from adagrain.host.compression.plan import check_sizes
from adagrain.host.compression.threshold import HardThreshold


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"density": 0}, "density must be a number above 0 and at most 1, not 0"),
        ({"worth": 0}, "worth must be a positive, finite number, not 0"),
        ({"worth": float("inf")}, "worth must be a positive, finite number, not inf"),
        ({"density": 1.5}, "density must be a number above 0 and at most 1, not 1.5"),
        ({"density": float("nan")}, "density must be a number above 0 and at most 1, not nan"),
        ({"density": "1%"}, "density must be a number above 0 and at most 1, not '1%'"),
        ({"density": True}, "density must be a number above 0 and at most 1, not True"),
        ({"budget": 0}, "budget must be a positive number of bytes, not 0"),
        ({"budget": 2.5}, "budget must be a positive number of bytes, not 2.5"),
        ({"budget": 9, "warmup_passes": 3}, "warmup_passes must be 0 where .* a budget, not 3"),
        ({"mask": "topk"}, "mask must be one of threshold, .*, or a Mask, not 'topk'"),
        ({"mantissa_bits": 8}, "mantissa_bits must be a whole number from 0 to 7, not 8"),
        ({"mantissa_bits": 2.0}, r"mantissa_bits must be a whole number from 0 to 7, not 2\.0"),
        ({"error_feedback": 1}, "error_feedback must be True or False, not 1"),
        ({"nesterov": 1}, "nesterov must be True or False, not 1"),
        ({"nesterov": True}, "nesterov must be False without momentum correction, not True"),
        ({"momentum_masking": 1}, "momentum_masking must be None, True or False, not 1"),
        (
            {"momentum_masking": False},
            "momentum_masking must be None without momentum correction, not False",
        ),
        ({"momentum": 1.0}, r"momentum must be a number from 0 to below 1, not 1\.0"),
        ({"warmup_passes": -1}, "warmup_passes must be a whole number, at least 0, not -1"),
        ({"warmup_passes": 2, "density": 0.3}, r"must be above density, 0\.3, .*, not 0\.25"),
        (
            {"warmup_passes": 2, "warmup_density": 0.01},
            r"warmup_density must be above density, 0\.01, where .* warmup_passes, not 0\.01",
        ),
        ({"warmup_density": 0.5}, "warmup_density must not .* without warmup_passes, but is 0.5"),
        ({"warmup_density": 0.5, "warmup_passes": 0}, "warmup_density must not be given without"),
        ({"density": 0.1, "budget": 900}, "density must not be given beside a budget, .* is 0.1"),
        (
            {"warmup_passes": 2, "warmup_density": 0},
            "warmup_density must be a number above 0 and .*, not 0",
        ),
        ({"plan_passes": 0}, "plan_passes must be a whole number, at least 1, not 0"),
        ({"bypass": "maybe"}, "bypass must be one of auto, never, always, .*, not 'maybe'"),
        ({"bypass": True}, "bypass must be one of auto, never, always, .*, not True"),
        ({"bypass": {"4": True}}, "a pass of bypass must be a whole .*, at least 0, not '4'"),
        ({"bypass": {True: True}}, "a pass of bypass must be a whole .*, at least 0, not True"),
        ({"bypass": {-1: True}}, "a pass of bypass must be a whole number, at least 0, not -1"),
        (
            {"bypass": "never", "worth": 2.0},
            r"worth must be 1\.5 unless bypass is 'auto', not 2\.0",
        ),
        ({"bypass": {3: True}, "worth": 2.0}, "worth must be 1.5 unless bypass is 'auto', not"),
        ({"bypass": {3: 1}}, "bypass of pass 3 must be True or False, not 1"),
        ({"bypass": np.zeros(2)}, "bypass must be one of auto, never, always, .*, not array"),
        ({"mask": np.zeros(2)}, "mask must be one of threshold, .*, or a Mask, not array"),
        ({"mask": HardThreshold}, "mask must be one of threshold, .*, or a Mask, not <class"),
        ({"mask": SimpleNamespace(keep=len)}, "mask must be one of threshold, .* not namespace"),
        ({"coder": np.zeros(2)}, "coder must be one of golden, device, .*, not array"),
        ({"network": np.zeros(2)}, "network must be one of golden, device, not array"),
        ({"seed": -1}, "seed must be a whole number from 0 to below 2.*63, not -1"),
        ({"seed": 1 << 63}, "seed must be a whole number from 0 to below 2.*63, not 92"),
        ({"densty": 0.1}, "compression has no option 'densty'; did you mean 'density'?"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        CompressionOptions.of(options)
    assert "\n" not in str(caught.value)


def test_numbers_become_those_that_checkpoints_may_have() -> None:
    given: Any = {"density": Fraction(1, 10), "momentum": np.float32(0.5), "budget": np.int64(900)}
    options = CompressionOptions(**given, learned={"hidden": np.int64(9)}, mask="learned")
    hidden = LearnedOptions.of(options.learned).hidden
    found = options.density, options.momentum, options.budget, hidden
    assert found == (0.1, 0.5, 900, 9)
    assert [*map(type, found)] == [float, float, int, int]


def test_a_model_may_have_as_many_shares_as_a_frame() -> None:
    check_sizes([1] * 65535, None)
    message = "parameters, or slices of them, must be at most 65535, .*, not 65536"
    with pytest.raises(ValueError, match=message):
        check_sizes([1] * 65536, None)
