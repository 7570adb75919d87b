"""Cadences that a user gives."""

import numpy as np
import pytest

from adagrain.host.distributed.cadence_plan import first_cadences, longest_cadences
from adagrain.host.distributed.reducer_options import ReducerOptions


def test_what_is_not_named_is_1() -> None:
    assert longest_cadences(["a", "b"], 4) == [4, 4]
    assert longest_cadences(["a", "b"], {"b": 8}) == [1, 8]
    assert first_cadences(["a", "b"], {"a": 2}, longest=[4, 4], epoch_steps=8) == [2, 1]


def test_refusals() -> None:
    with pytest.raises(ValueError, match="must be a power of two from 1 to 32768, not 12"):
        longest_cadences(["a"], 12)
    with pytest.raises(ValueError, match=r"cadence of 'a' must be .* from 1 to 32768, not 3"):
        first_cadences(["a"], {"a": 3}, longest=[4], epoch_steps=8)
    with pytest.raises(ValueError, match="region must be one of a, b, not 'c'"):
        first_cadences(["a", "b"], {"c": 1}, longest=[1, 1], epoch_steps=8)
    with pytest.raises(ValueError, match=r"multiple of the longest cadence \(8 for 'a'\), not 12"):
        first_cadences(["a"], {}, longest=[8], epoch_steps=12)
    with pytest.raises(ValueError, match="region must be one of a, b, not 'c'"):
        longest_cadences(["a", "b"], {"c": 2})
    with pytest.raises(TypeError, match=r"cadence of 'a' must be an integer, not 2\.0"):
        first_cadences(["a"], {"a": 2.0}, longest=[4], epoch_steps=8)
    with pytest.raises(TypeError, match="cadence_max of 'a' must be an integer, not None"):
        longest_cadences(["a"], {"a": None})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cadence": "noise"}, "cadence must be a CadencePolicy or None, not 'noise'"),
        ({"cadences": 4}, "cadences must be a mapping from names to integers, not 4"),
        ({"cadence_max": 2.5}, "cadence_max must be an integer or a mapping .*, not 2.5"),
        ({"cadence_max": True}, "cadence_max must be an integer or a mapping .*, not True"),
        ({"compare_weights": True}, "compare_weights must be an integer, not True"),
        ({"policy": None}, "policy must be a SpeculationPolicy, not None"),
        ({"epoch_steps": 16.0}, "epoch_steps must be an integer, not 16.0"),
        ({"parameters": [1]}, r"parameters must be a mapping .*, not \[1\]"),
        ({"compare_weights": None}, "compare_weights must be an integer, not None"),
        ({"timing": "fixed"}, "timing must be a Timing, not 'fixed'"),
        ({"log": "log.txt"}, "log must be a Callable or None, not 'log.txt'"),
        ({"epoch_steps": 0}, "epoch_steps must be at least 1, not 0"),
        ({"compare_weights": -1}, "compare_weights must not be negative, not -1"),
    ],
)
def test_options_of_a_wrong_kind(options: dict[str, object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        ReducerOptions(**options)


def test_numpy_s_integers_are_integers() -> None:
    options = ReducerOptions(epoch_steps=np.int64(8), cadence_max=np.int32(4))
    assert options.epoch_steps == 8
    assert longest_cadences(["a"], options.cadence_max) == [4]
    options = ReducerOptions(cadence_max={"a": np.int32(4)}, parameters={"t0": np.int64(9)})
    for own in (options.epoch_steps, *options.cadence_max.values(), *options.parameters.values()):
        assert type(own) is int
