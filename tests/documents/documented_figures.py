"""Figures that stand in README and docs, as their records in `benchmarks/results/` have them."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest

__all__ = ["Quote", "check", "each", "error", "listed", "part", "signed"]

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"

#: What stands in the place of a placeholder, whatever its value: a number, or some of a list.
_NUMBER = r"[-+−]?\d[\d.,]*(?:, [\d.]+)*"

_PLACEHOLDER = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True)
class Quote:
    """A passage of a document, and where its figures are from.

    Parameters
    ----------
    document : str
        Path from the root.
    records : str
        Names of records, between spaces.
    text : str
        The passage, with placeholders of `str.format`; white space counts alike, whatever it is.
    values : callable
        Gives the placeholders' values, from the records.
    """

    document: str
    records: str
    text: str
    values: Callable[..., Iterable[object]]


def each(quotes: Sequence[Quote]) -> pytest.MarkDecorator:
    """A mark that runs a test on each quote."""
    ids = [f"{number}-{quote.records}" for number, quote in enumerate(quotes)]
    return pytest.mark.parametrize("quote", quotes, ids=ids)


def check(quote: Quote) -> None:
    """Assert that a document has a passage once, with the figures of its records."""
    page = " ".join((ROOT / quote.document).read_text().split())
    text = " ".join(quote.text.split())
    wanted = text.format(*quote.values(*map(_record, quote.records.split())))
    parts = _PLACEHOLDER.split(text)
    assert parts[0] and parts[-1], f"must begin and end with words: {text!r}"
    found = re.findall(_NUMBER.join(map(re.escape, parts)), page)
    assert len(found) == 1, (
        f"{quote.document} must have one passage like {text!r}, not {len(found)}; "
        f"by the record of {quote.records} it is {wanted!r}"
    )
    assert found[0] == wanted, (
        f"{quote.document} must say {wanted!r}, by the record of {quote.records}; "
        f"it says {found[0]!r}"
    )


def _record(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text())


def signed(value: float, digits: int) -> str:
    """A number with its sign."""
    return f"{value:+.{digits}f}".replace("-", "−")


def part(times: float) -> str:
    """The divisor of a small part, in two digits at least."""
    return f"{times:.1f}" if times < 9.95 else f"{times:.0f}"


def listed(values: Iterable[float], digits: int) -> str:
    """Numbers, with commas between them."""
    return ", ".join(f"{value:.{digits}f}" for value in values)


def error(values: Sequence[float]) -> float:
    """Standard error of their mean."""
    return stdev(values) / sqrt(len(values))
