"""Options of a run that goes on: those that may change, and those that must stay."""

from typing import Any

import pytest

from adagrain.host.train.options import TrainingOptions
from adagrain.host.train.resumed_options import resumed


@pytest.mark.parametrize(
    "given, message",
    [
        ({"learning_rate": 0.05}, r"learning_rate must be 0.1, as run 'run' was .*, not 0.05"),
        ({"steps": 9}, "steps must be at least 1050, as run 'run' was begun with, not 9"),
        ({"workers": 3}, "workers must be 2, as run 'run' was begun with, not 3"),
    ],
)
def test_what_must_stay(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        resumed(TrainingOptions(name="run"), given)


def test_other_options_of_a_resumed_run_are_checked() -> None:
    with pytest.raises(TypeError, match="steps must be a whole number, not '2000'"):
        resumed(TrainingOptions(name="run"), {"steps": "2000"})


def test_what_may_change() -> None:
    given = {"steps": 2000, "device": "golden:", "timing": "fixed", "checkpoint_every": 7}
    changed = resumed(TrainingOptions(name="run"), {**given, "learning_rate": 0.1})
    assert {name: getattr(changed, name) for name in given} == given
    assert changed.binding() == TrainingOptions(name="run").binding()


@pytest.mark.parametrize(
    "given",
    [{"coder": "device"}, {"coder": "device", "network": "device"}, {"device_preset": "small"}],
    ids=str,
)
def test_what_does_the_work_may_change(given: dict[str, Any]) -> None:
    begun = TrainingOptions(name="run", preset="compress", mask="learned")
    changed = resumed(begun, given)
    assert changed.binding() == begun.binding()
    assert resumed(changed, {name: getattr(begun, name) for name in given}) == begun
