"""Cadences that a user gives."""

import pytest

from adagrain.host.cadence_plan import first_cadences, longest_cadences


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
