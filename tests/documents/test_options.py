"""Tables of options name each of them, with its default."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import adagrain
from adagrain.host.compression.options import CompressionOptions
from adagrain.host.distributed.reducer_options import ReducerOptions
from adagrain.host.distributed.timing import Timing
from adagrain.host.granular.policy import Policy
from adagrain.host.speculation.options import SpeculationOptions
from adagrain.models.interface.policies import CadencePolicy, SpeculationPolicy
from adagrain.models.interface.precision import Precision

DOCS = Path(__file__).parents[2] / "docs"

#: What defaults that are no Python are called.
WORDS = {"none": None, "on": True, "off": False}
NAMES = {own.__name__: own for own in (CadencePolicy, SpeculationPolicy, Timing)}
NAMES |= Precision.__members__

#: Described beside the table, or told there by another default of the same.
ELSEWHERE = {
    *("cadence", "cadences", "cadence_max", "cap"),
    *("epoch_steps", "parameters", "compare_weights", "timing", "log", "sinks"),
}


def defaults(function: Any) -> dict[str, Any]:
    """Defaults of a function's parameters, by name."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


def of_class(options: type) -> dict[str, Any]:
    made = options()
    return {name: getattr(made, name) for name in options.__dataclass_fields__}


#: Options by page.
OPTIONS = {
    "library": defaults(adagrain.register) | of_class(ReducerOptions),
    "compression": of_class(CompressionOptions) | {"learned": None},
    "granular": of_class(Policy),
    "speculation": {
        name: default
        for name, default in (
            of_class(ReducerOptions) | of_class(SpeculationOptions) | {"compression": None}
        ).items()
        if name not in ELSEWHERE
    },
}


def documented(page: str) -> dict[str, str]:
    """Defaults by option, as a page's first table of options has them."""
    _, _, text = (DOCS / f"{page}.md").read_text().partition("| option | default | |\n")
    table, _, _ = text.partition("\n\n")
    found = {}
    for line in table.splitlines()[1:]:
        names, told = re.split(r"(?<!\\)\|", line)[1:3]
        options = re.findall(r"`(\w+)`", names)
        values = [told.strip()] if len(options) == 1 else told.strip().split(", ")
        if len(values) == 1:
            values *= len(options)
        found |= dict(zip(options, values, strict=True))
    return found


def alike(told: str, default: Any) -> bool:
    """A default, as it is told, is one."""
    if told in WORDS:
        return default is WORDS[told]
    meant = eval(told.strip("`"), dict(NAMES))
    return vars(meant) == vars(default) if isinstance(default, Timing) else meant == default


@pytest.mark.parametrize("page", OPTIONS)
def test_each_option_has_its_default(page: str) -> None:
    found = {name: own for name, own in documented(page).items() if name in OPTIONS[page]}
    assert found.keys() == OPTIONS[page].keys()
    wrong = {n: t for n, t in found.items() if not alike(t, OPTIONS[page][n])}
    assert wrong == {}


@pytest.mark.parametrize("page", OPTIONS)
def test_there_is_no_other_option(page: str) -> None:
    beside = ELSEWHERE if page == "speculation" else set()
    assert {*documented(page)} - beside <= OPTIONS[page].keys()


def test_a_wrong_default_is_seen() -> None:
    assert alike("0.01", 0.01) and not alike("0.02", 0.01)
    assert alike("none", None) and not alike("off", None)
    assert alike("INT8", Policy().start) and not alike("INT4", Policy().start)
    assert not alike("`Timing()`", Timing(fixed=(0, 0)))
